import { amountDigits, type Completion, type CompletionAdvice } from '#processor-kit';
import type { Type2Config } from './config.ts';
import { originalElements, submissionOf, timesOf } from './messages.ts';
import { profile } from './profile.ts';
import type { Type2Message } from './spec.ts';

/**
 * 0220, and 0221 for each repeat, each with a STAN of its own: DE56 identifies the approval to post, DE4 its amount.
 */
export const completion: CompletionAdvice<Type2Config, Type2Message> = {
  isWanted: ({ completion }) => completion,
  build: ({ original, ...advice }: Completion, config) => ({
    mti: advice.attempt === 1 ? '0220' : '0221',
    pan: original.pan,
    processingCode: original.processingCode,
    amount: amountDigits(advice.amountMinor),
    ...timesOf(advice),
    expiry: original.expiry,
    merchantCategory: original.merchantCategory,
    posEntryMode: original.posEntryMode,
    panSequence: original.panSequence,
    networkId: original.networkId,
    posCondition: original.posCondition,
    acquirerId: original.acquirerId,
    rrn: original.rrn,
    authorizationCode: advice.authorizationCode,
    tid: original.tid,
    mid: original.mid,
    acceptorNameLocation: original.acceptorNameLocation,
    submission: submissionOf(config),
    currency: original.currency,
    original: originalElements(original),
  }),
  // 94: the switch has accepted this advice before.
  isAcknowledged: ({ mti, responseCode = '' }) =>
    mti === '0230' && [...profile.codes.approved, '94'].includes(responseCode),
};
