import type { ReversalAnswer } from '../../processor-kit/processor.ts';
import type { PinEntry } from './pin.ts';
import type { Move } from './status.ts';

/** What a step tells the audit trail: the state it led to, or that an attempt was not written after all. */
export interface ReversalEntry {
  readonly reversal: 'owed' | 'sent' | 'unsent' | 'confirming' | 'acknowledged' | 'refused' | 'needsReview';
  readonly attempt: number;
}

/** An answer to an attempt that leaves the reversal as it was. */
export interface ReversalAnswerEntry {
  readonly reversalAnswer: ReversalAnswer;
  readonly attempt: number;
}

/** What a late response says. A wish for a PIN is a decline by then. */
export interface LateFacts {
  readonly kind: 'approved' | 'declined' | 'unknown';
  readonly responseCode: string;
  readonly authorizationCode: string;
}

/** One line of the audit trail: a move of the status or of the PIN step, a completion, a void, a step of the reversal, a late response. */
export type AuditEntry =
  | Move
  | PinEntry
  | (ReversalEntry & { readonly at: string })
  | (ReversalAnswerEntry & { readonly at: string })
  /** An approval that no switch has taken the completion of. */
  | { readonly completion: 'givenUp'; readonly at: string }
  /** A void was asked for: the id of its row. The reversal that follows is the void's. */
  | { readonly void: string; readonly at: string }
  | { readonly late: LateFacts['kind']; readonly responseCode: string; readonly at: string };
