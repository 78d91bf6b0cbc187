import type { Row } from '../memory-rows.ts';
import type { Booking } from '../switch/ledger.ts';
import type { SentRequest } from '../switch/sent-request.ts';
import type { Statement } from '../switch/statements.ts';

/** An outcome that a webhook reported to the integrator. */
interface ToldEvent {
  readonly transactionId: string;
  readonly type: string;
  readonly disposition: string;
  readonly sequence: number;
}

/** A response to a phone or a till. */
export interface ReportedToClient {
  readonly transactionId: string;
  readonly attempt: number;
  /** Null: a PIN is required. */
  readonly disposition: string | null;
}

/** The records of all sides, when nothing is left to do. */
export interface Books {
  readonly rows: ReadonlyMap<string, Row>;
  /** The true state of the switch. */
  readonly bookings: readonly Booking[];
  /** The requests to the switch, and its responses. */
  readonly requests: readonly SentRequest[];
  readonly statements: readonly Statement[];
  readonly reported: readonly ReportedToClient[];
  readonly events: readonly ToldEvent[];
  /** Transactions for which the log called a person. */
  readonly alarms: ReadonlySet<string>;
  /** A process has died or frozen, or the database failed: then the next action of a process may be missing. */
  readonly hadFaults: boolean;
  /** Approvals post only after a completion. */
  readonly wantsCompletion: boolean;
}
