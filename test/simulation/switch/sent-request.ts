import type { IsoMessage } from '../../../src/processor-kit/iso-message.ts';

/** A message that has left for the switch. */
export interface SentRequest {
  /** From 1, in the order in which they left. */
  readonly number: number;
  readonly kind: 'sale' | 'refund' | 'reversal' | 'completion';
  /** DE37: of a reversal that of its original. */
  readonly key: string;
  readonly transactionId: string;
  /** Of a reversal: which one, from 1. */
  readonly reversalAttempt: number;
  readonly message: IsoMessage;
  readonly processName: string;
  readonly connectionId: string;
  readonly writtenAtMs: number;
  /** The switch has worked on it. */
  isTaken: boolean;
}

/**
 * What is still on its way so long after it was written is lost (src/processor-kit/profile.ts tells why a minute is enough):
 * no guard could wait for longer.
 */
export const LONGEST_TRANSIT_MS = 50_000;

/** A void waits for as long as a completion may be on its way: its deadline and the guard of five seconds. */
export const LONGEST_TRANSIT_OF_COMPLETION_MS = 9_000;

/** Whether the request may still come to the switch: none overtakes another of its connection. */
export function mayArrive(request: SentRequest, all: readonly SentRequest[], nowMs: number): boolean {
  if (request.isTaken || nowMs - request.writtenAtMs > LONGEST_TRANSIT_MS) return false;
  return !all.some(
    (later) => later.number > request.number && later.isTaken && later.connectionId === request.connectionId,
  );
}

/** "sale 1", "reversal 3 of 000001". */
export function nameOf({ number, kind, transactionId, reversalAttempt }: SentRequest): string {
  return kind === 'reversal'
    ? `request ${number} (reversal ${reversalAttempt} of ${transactionId})`
    : `request ${number} (${kind} ${transactionId})`;
}
