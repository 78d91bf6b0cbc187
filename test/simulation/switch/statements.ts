import type { Ledger } from './ledger.ts';
import { type CodedResponse, type Meaning, meaningOf, type ReversalMeaning, reversalMeaningOf } from './responses.ts';
import type { SentRequest } from './sent-request.ts';

/** A response of the switch, with the true state at that time. */
export interface Statement {
  readonly atMs: number;
  readonly key: string;
  readonly transactionId: string;
  /** The number of the request with a response. */
  readonly number: number;
  readonly about: 'request' | 'reversal' | 'completion';
  readonly reversalAttempt: number;
  readonly meaning: Meaning | ReversalMeaning | 'posted';
  /** DE38, if the switch gives out different ones. */
  readonly authorizationCode?: string | undefined;
  /** How many requests were sent before it. */
  readonly sentBefore?: number;
  /** The amount in the response. */
  readonly amountMinor: number;
  readonly stateThen: ReturnType<Ledger['stateOf']>;
  /** No surviving process has received it, or none could store it: it may be lost. */
  isUnheard: boolean;
  /** When a process stored it, if that was later than its sending. */
  heardAtMs?: number;
}

/** A process has stored the statement. */
export function hear(statement: Statement, nowMs: number): void {
  if (!statement.isUnheard) return;
  statement.isUnheard = false;
  statement.heardAtMs = nowMs;
}

export function statementOf(request: SentRequest, response: CodedResponse, ledger: Ledger, atMs: number): Statement {
  const { key, transactionId, number, reversalAttempt, kind } = request;
  return {
    atMs,
    key,
    transactionId,
    number,
    about: kind === 'reversal' || kind === 'completion' ? kind : 'request',
    reversalAttempt,
    meaning: meaningFor(kind, response),
    amountMinor: response.amountMinor ?? Number(request.message.amount),
    stateThen: ledger.stateOf(key),
    isUnheard: false,
  };
}

function meaningFor(kind: SentRequest['kind'], response: CodedResponse): Statement['meaning'] {
  if (kind === 'completion') return reversalMeaningOf(response) === 'done' ? 'posted' : 'unclear';
  return kind === 'reversal' ? reversalMeaningOf(response) : meaningOf(response);
}
