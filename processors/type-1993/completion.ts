import { amountDigits, type Completion, type CompletionAdvice } from '#processor-kit';
import type { Type1993Config } from './config.ts';
import { FUNCTION, originalAmounts, originalElements, repeated, timesOf } from './messages.ts';
import type { Type1993Message } from './spec.ts';

/**
 * 000 approves, 901 acknowledges the advice with financial liability, 913 has accepted it before. 900 acknowledges it
 * without liability: the money is not certain, so the advice is repeated until a person looks.
 */
const ACKNOWLEDGING = ['000', '901', '913'];

/** 1220, and 1221 for each repeat: DE56 identifies the authorization to post, DE4 its amount. */
export const completion: CompletionAdvice<Type1993Config, Type1993Message> = {
  isWanted: ({ completion }) => completion,
  build: ({ original, ...advice }: Completion) => {
    const amount = amountDigits(advice.amountMinor);
    return {
      ...repeated(original),
      mti: advice.attempt === 1 ? '1220' : '1221',
      functionCode: amount === original.amount ? FUNCTION.completionSameAmount : FUNCTION.completionOtherAmount,
      amount,
      ...timesOf(advice),
      originalAmounts: originalAmounts(original),
      authorizationCode: advice.authorizationCode,
      original: originalElements(original),
    };
  },
  isAcknowledged: ({ mti, responseCode = '' }) => mti === '1230' && ACKNOWLEDGING.includes(responseCode),
};
