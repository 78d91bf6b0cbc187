import type { IsoMessage } from '../../../src/kits/processor-kit/iso-fields.ts';

/** A message sent to the switch. */
export interface SentRequest {
  /** From 1, in order of sending. */
  readonly number: number;
  readonly kind: 'sale' | 'refund' | 'reversal' | 'completion';
  /** DE37: for a reversal, that of its original. */
  readonly key: string;
  readonly transactionId: string;
  /** For a reversal: its number, from 1. */
  readonly reversalAttempt: number;
  readonly message: IsoMessage;
  readonly processName: string;
  readonly connectionId: string;
  readonly writtenAtMs: number;
  /** The switch has processed it. */
  isTaken: boolean;
}

/**
 * A message that is still in transit this long after it was written is lost (src/kits/processor-kit/profile.ts explains why
 * a minute is enough): no guard could wait for longer.
 */
export const LONGEST_TRANSIT_MS = 50_000;

/** A void waits as long as a completion may be in transit: its deadline and the guard of five seconds. */
export const LONGEST_TRANSIT_OF_COMPLETION_MS = 9_000;

/** Whether the request may still arrive at the switch: none overtakes another on its connection. */
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
