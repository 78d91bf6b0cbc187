import { formatMoment } from '../../kits/processor-kit/field-values.ts';

/**
 * The status is the position of a transaction in its lifecycle (interface 3.3). The numbers are the published ids of
 * `transactionstatusId`.
 *
 * A tap is **RequestReceived** when its row exists, and **ReadyToSubmit** when a route is chosen. It is
 * **SubmittedToPaymentProcessor** when its STAN and its deadline are committed, and its attempt as open: a worker
 * decides it after the deadline if nothing else does. Only then may a byte be sent. The switch response makes the tap **ResponseReceived**
 * (usable) or **BadResponse** (unusable or of unknown meaning: a reversal is required). If no response arrives in
 * time, the tap becomes **NoResponse** (a reversal is required). When the phone has its HTTP response, the tap is
 * **RespondedToPhone**. If the phone has disconnected, the tap is **FailedToRespondToPhone** until the device asks
 * again. **AcknowledgedByPhone** ends it. **BadRequestReceived** and **ErrorFindingConfig** end it before any switch
 * received it. A tap that is refused under the token of a link has no row.
 *
 * Statuses 1, 3, 4, 5, 6 and 7 always have an open attempt, committed with the status, by which a worker finds the transaction
 * and moves it on (see `MUST_NOT_REST`). Statuses 8 and 9 may rest, unless a PIN is awaited: then there is a job (see pin.ts).
 * Within an attempt, the only backward transitions are 4 -> 3, when it is proven that nothing was written, and 9 -> 8, when
 * the phone gets its response later.
 */
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

/**
 * Every allowed transition; `null` means that the row does not exist yet. A PIN, or a new attempt of the same
 * transaction, starts at 1 again.
 */
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

/** The statuses that a row may only have while a live job will move it on. */
export const MUST_NOT_REST: readonly StatusId[] = [1, 3, 4, 5, 6, 7];

export function canMove(from: StatusId | null, to: StatusId): boolean {
  return STATUS_MOVES.get(from)?.includes(to) ?? false;
}

/** One entry of the audit trail. */
export interface Move {
  readonly from: StatusName | null;
  readonly to: StatusName;
  /** ISO 8601 with milliseconds, UTC, by the wall clock of the process that made the transition. */
  readonly at: string;
}

/**
 * Expands a path of statuses into transitions.
 *
 * @throws Error for a transition that is not in the table, which is an error of the program and never of the input
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
