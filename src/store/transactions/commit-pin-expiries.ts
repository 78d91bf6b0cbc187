import { PinState } from '../../payments/model/pin.ts';
import type { PinExpiry } from '../../payments/ports/store-ports.ts';
import { assignments, ColumnBatch, type ColumnList } from '../postgres/column-batch.ts';
import { GUARDED_COLUMNS, guardedUpdate, guardedWrite } from './guarded-update.ts';

const EXPIRY_COLUMNS = {
  disposition: 'integer',
  pinState: 'integer',
  pinTries: 'integer',
  pinJob: 'uuid',
  updatedAtMs: 'ms',
} as const satisfies ColumnList;

const batch = new ColumnBatch({ ...GUARDED_COLUMNS, ...EXPIRY_COLUMNS });

const EXPIRE = guardedUpdate({
  rows: batch.rows,
  set: assignments(EXPIRY_COLUMNS),
  guard: `t.attempt = x.attempt
    and t.pin_state = ${PinState.awaiting} and t.pin_expires_at <= clock_timestamp()`,
});

/** Ends waits for a PIN that have expired on the database's clock; false if one has not expired, or a PIN came. */
export const commitPinExpiries = guardedWrite({
  name: 'commit-pin-expiries',
  batch,
  text: EXPIRE,
  rowOf: ({ transaction: { acquirerId, id, attempt }, disposition, pin, auditEntries, nowMs }: PinExpiry) => {
    return { acquirerId, id, attempt, disposition, ...pin, updatedAtMs: nowMs, auditEntries };
  },
  jobsOf: ({ enqueue }) => ({ enqueue }),
});
