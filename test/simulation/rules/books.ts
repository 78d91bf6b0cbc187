import type { Row } from '../memory-rows.ts';
import type { Booking } from '../switch/ledger.ts';
import type { SentRequest } from '../switch/sent-request.ts';
import type { Statement } from '../switch/statements.ts';

/** An outcome that the integrator was told of by a webhook. */
export interface ToldEvent {
  readonly transactionId: string;
  readonly type: string;
  readonly disposition: string;
  readonly sequence: number;
}

/** An answer that a phone or a till was given. */
export interface ToldClient {
  readonly transactionId: string;
  readonly attempt: number;
  /** Null: a PIN is wanted. */
  readonly disposition: string | null;
}

/** Everything that was written down by all sides, when nothing is left to be done. */
export interface Books {
  readonly rows: ReadonlyMap<string, Row>;
  /** What is true. */
  readonly bookings: readonly Booking[];
  /** What the switch was asked, and what it has said. */
  readonly requests: readonly SentRequest[];
  readonly statements: readonly Statement[];
  readonly told: readonly ToldClient[];
  readonly events: readonly ToldEvent[];
  /** Transactions that a person was called for, by the log. */
  readonly alarms: ReadonlySet<string>;
  /** A process has died or stood still, or the database failed: then what a process would have done next may be missing. */
  readonly hadFaults: boolean;
  /** Approvals are posted by a completion only. */
  readonly wantsCompletion: boolean;
}
