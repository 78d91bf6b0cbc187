/**
 * Where a transaction stands (interface 3.3). The numbers are the published ids of `transactionstatusId`.
 *
 * A tap is **RequestReceived** when its row exists, **ReadyToSubmit** when a route was chosen, and
 * **SubmittedToPaymentProcessor** when its STAN, its deadline and the `overdue` job that will decide if nobody else does
 * are committed; only then may a byte leave. The switch's answer makes it **ResponseReceived** (usable), **BadResponse**
 * (unusable, or of unknown meaning: a reversal is owed) or **NoResponse** (none in time: a reversal is owed). When the
 * phone has its answer it is **RespondedToPhone**, if the phone was gone **FailedToRespondToPhone**, until the device
 * asks again. **AcknowledgedByPhone** ends it. **BadRequestReceived** and **ErrorFindingConfig** end it before any
 * switch heard of it; a refused tap by the token of a link has no row.
 *
 * Who moves it on: from 1, 3, 4, 5, 6 and 7 there is always a live job, committed with the status, that will (see
 * `MUST_NOT_REST`). 8 and 9 may rest, unless a PIN is awaited: then there is a job, too (see pin-step.ts). Nothing goes
 * backwards but 4 -> 3, when it is proven that nothing was written.
 */

import { formatMoment } from '../../processor-kit/iso-moment.ts';

export const Status = {
  BadRequestReceived: 0,
  RequestReceived: 1,
  ErrorFindingConfig: 2,
  ReadyToSubmitToPaymentProcessor: 3,
  SubmittedToPaymentProcessor: 4,
  NoResponseFromPaymentProcessor: 5,
  BadResponseFromPaymentProcessor: 6,
  ResponseReceivedFromPaymentProcessor: 7,
  RespondedToPhone: 8,
  FailedToRespondToPhone: 9,
  AcknowledgedByPhone: 10,
} as const;

export type StatusId = (typeof Status)[keyof typeof Status];
export type StatusName = keyof typeof Status;

const NAMES = Object.keys(Status) as StatusName[];

export function statusName(id: StatusId): StatusName {
  return NAMES[id]!;
}

/** Every allowed move; `null` is the row's birth. A PIN, or a new attempt of the same transaction, begins at 1 again. */
export const STATUS_MOVES: ReadonlyMap<StatusId | null, readonly StatusId[]> = new Map<
  StatusId | null,
  readonly StatusId[]
>([
  [null, [Status.BadRequestReceived, Status.RequestReceived]],
  [Status.BadRequestReceived, [Status.RequestReceived]],
  [
    Status.RequestReceived,
    [
      Status.ErrorFindingConfig,
      Status.ReadyToSubmitToPaymentProcessor,
      Status.RespondedToPhone,
      Status.FailedToRespondToPhone,
    ],
  ],
  [Status.ErrorFindingConfig, [Status.RequestReceived]],
  [
    Status.ReadyToSubmitToPaymentProcessor,
    [Status.SubmittedToPaymentProcessor, Status.RespondedToPhone, Status.FailedToRespondToPhone],
  ],
  [
    Status.SubmittedToPaymentProcessor,
    [
      Status.ReadyToSubmitToPaymentProcessor,
      Status.NoResponseFromPaymentProcessor,
      Status.BadResponseFromPaymentProcessor,
      Status.ResponseReceivedFromPaymentProcessor,
      Status.RespondedToPhone,
      Status.FailedToRespondToPhone,
    ],
  ],
  [Status.NoResponseFromPaymentProcessor, [Status.RespondedToPhone, Status.FailedToRespondToPhone]],
  [Status.BadResponseFromPaymentProcessor, [Status.RespondedToPhone, Status.FailedToRespondToPhone]],
  [Status.ResponseReceivedFromPaymentProcessor, [Status.RespondedToPhone, Status.FailedToRespondToPhone]],
  [Status.RespondedToPhone, [Status.AcknowledgedByPhone, Status.RequestReceived]],
  [Status.FailedToRespondToPhone, [Status.RespondedToPhone, Status.AcknowledgedByPhone, Status.RequestReceived]],
  [Status.AcknowledgedByPhone, []],
]);

/** The statuses a row may only be in while a live job will move it on. */
export const MUST_NOT_REST: readonly StatusId[] = [1, 3, 4, 5, 6, 7];

export function canMove(from: StatusId | null, to: StatusId): boolean {
  return STATUS_MOVES.get(from)?.includes(to) ?? false;
}

/** One line of the audit trail. */
export interface Move {
  readonly from: StatusName | null;
  readonly to: StatusName;
  /** ISO 8601 with milliseconds, UTC, by the wall clock of the process that moved it. */
  readonly at: string;
}

/**
 * Spells out a path of moves.
 *
 * @throws Error for a move that is not in the table: a programmer's error, never an input's
 */
export function moves(from: StatusId | null, path: readonly StatusId[], nowMs: number): Move[] {
  const at = formatMoment(nowMs);
  let last = from;
  return path.map((to) => {
    if (!canMove(last, to))
      throw new Error(`No move from ${last === null ? 'new' : statusName(last)} to ${statusName(to)}`);
    const move = { from: last === null ? null : statusName(last), to: statusName(to), at };
    last = to;
    return move;
  });
}
