import { amountDigits, type Completion, type CompletionAdvice } from '#processor-kit';
import type { Type2Config } from './config.ts';
import { followUp } from './messages.ts';
import { profile } from './profile.ts';
import type { Type2Message } from './spec.ts';

/**
 * 0220, and 0221 for each repeat, each with a STAN of its own: DE56 identifies the approval to post, DE4 its amount.
 */
export const completion: CompletionAdvice<Type2Config, Type2Message> = {
  isWanted: ({ completion }) => completion,
  build: (advice: Completion, config) => ({
    ...followUp(advice, config),
    mti: advice.attempt === 1 ? '0220' : '0221',
    amount: amountDigits(advice.amountMinor),
  }),
  // 94: the switch has accepted this advice before.
  isAcknowledged: ({ mti, responseCode = '' }) =>
    mti === '0230' && [...profile.codes.approved, '94'].includes(responseCode),
};
