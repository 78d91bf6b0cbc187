import type { ReversalAnswer } from '../../kits/processor-kit/processor.ts';
import type { PinEntry } from './pin.ts';
import type { Move } from './status.ts';

/**
 * What the switch's books say about a transaction that needs review. `voided`: no amount stands. `approved`: the amount
 * stands. `adjusted`: the books differed, and were corrected to agree with what the gateway reports.
 */
export const SWITCH_BOOKS = ['voided', 'approved', 'adjusted'] as const;
export type SwitchBooks = (typeof SWITCH_BOOKS)[number];

/** What a reversal step records in the audit trail: the new state, or that an attempt turned out not to be written. */
export interface ReversalEntry {
  readonly reversal: 'owed' | 'sent' | 'unsent' | 'confirming' | 'acknowledged' | 'refused' | 'needsReview';
  readonly attempt: number;
}

/** A response to an attempt that does not change the state of the reversal. */
export interface ReversalAnswerEntry {
  readonly reversalAnswer: ReversalAnswer;
  readonly attempt: number;
}

/** What a late response reports. A request for a PIN counts as a decline by then. */
export interface LateFacts {
  readonly kind: 'approved' | 'declined' | 'unknown';
  readonly responseCode: string;
  readonly authorizationCode: string;
}

/**
 * One entry of the audit trail: a transition of the status or of the PIN step, a completion, a void, a reversal
 * step, or a late response.
 */
export type AuditEntry =
  | Move
  | PinEntry
  | (ReversalEntry & { readonly at: string })
  | (ReversalAnswerEntry & { readonly at: string })
  /** An approval whose completion no switch accepted. */
  | { readonly completion: 'givenUp'; readonly at: string }
  /** A void was requested: the id of its row. The reversal that follows belongs to the void. */
  | { readonly void: string; readonly at: string }
  /** A person resolved the transaction by the switch's books. The admin events name the person and the reason. */
  | { readonly resolution: SwitchBooks; readonly at: string }
  | { readonly late: LateFacts['kind']; readonly responseCode: string; readonly at: string };
