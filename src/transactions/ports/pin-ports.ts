import type { DispositionId } from '../disposition.ts';
import type { JobRequest } from '../jobs.ts';
import type { PinEntry, PinStep } from '../pin/pin-step.ts';
import type { NewAttempt, TapRequest } from '../ports.ts';
import type { StatusId } from '../status.ts';
import type { Transaction } from '../transaction.ts';

/** The PIN of a tap, as the phone submitted it: both blobs again, and the block unless it lies in the sealed one. */
export interface PinRequest extends TapRequest {
  readonly pinToken: string;
  /** Hex. */
  readonly pinBlock?: string | undefined;
  readonly ksn?: string | undefined;
}

/** A PIN as a reader enciphered it. */
export interface EnteredPin {
  /** 8 bytes, or 16 in ISO format 4. */
  readonly block: Uint8Array;
  /** 10 bytes of a TDES device, 12 of an AES one. */
  readonly ksn: Uint8Array;
}

/** What a pinToken is to a transaction: its own, one whose PIN was submitted or whose time is over, or none of its own. */
export type PinTokenVerdict = 'good' | 'spent' | 'foreign';

/** Tokens by which a phone submits the PIN that it was asked for. */
export interface PinTokens {
  /** For a transaction that awaits a PIN. */
  issue(transaction: Transaction): Promise<string>;
  check(token: string, transaction: Transaction): Promise<PinTokenVerdict>;
}

/** The attempt that brings a PIN, and what it must still find in the row: the PIN awaited, in this status, and in time. */
export interface PinAttempt extends NewAttempt {
  readonly fromStatus: StatusId;
  /** The jobs that guarded the row until now. */
  readonly remove: readonly { readonly queue: 'expire-pin' | 'overdue'; readonly id: string }[];
}

/** The end of the wait for a PIN; holds only when its time is over. */
export interface PinExpiry {
  readonly transaction: Transaction;
  readonly disposition: DispositionId;
  readonly pin: PinStep;
  readonly auditEntries: readonly PinEntry[];
  readonly nowMs: number;
  readonly enqueue: readonly JobRequest[];
}
