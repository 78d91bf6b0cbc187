import { type Meaning, meaningOf, type ReversalMeaning, reversalMeaningOf, type SwitchResponse } from './answers.ts';
import type { Ledger } from './ledger.ts';
import type { SentRequest } from './sent-request.ts';

/** Something that the switch has said, with what was true when it said it. */
export interface Statement {
  readonly atMs: number;
  readonly key: string;
  readonly transactionId: string;
  /** The request that it answers. */
  readonly number: number;
  readonly about: 'request' | 'reversal';
  readonly reversalAttempt: number;
  readonly meaning: Meaning | ReversalMeaning;
  /** The amount that it names. */
  readonly amountMinor: number;
  readonly stateThen: ReturnType<Ledger['stateOf']>;
  /** No process that lived on has taken it, or none could store it: it may be as good as lost. */
  isUnheard: boolean;
}

export function statementOf(request: SentRequest, response: SwitchResponse, ledger: Ledger, atMs: number): Statement {
  const { key, transactionId, number, reversalAttempt, kind } = request;
  const about = kind === 'reversal' ? 'reversal' : 'request';
  return {
    atMs,
    key,
    transactionId,
    number,
    about,
    reversalAttempt,
    meaning: about === 'reversal' ? reversalMeaningOf(response) : meaningOf(response),
    amountMinor: response.amountMinor ?? Number(request.message.amount),
    stateThen: ledger.stateOf(key),
    isUnheard: false,
  };
}
