import { HeldAfterRestore } from '../../basics/errors.ts';
import { localDateTime } from '../../kits/processor-kit/field-values.ts';
import type { LostWindow, MerchantKey } from '../ports/directory-ports.ts';
import type { HeldRequest } from '../ports/store-ports.ts';
import type { TransactionDependencies } from '../ports/transaction-dependencies.ts';

/**
 * A restored database lacks the commits of a time: the lost window. A switch has booked what they recorded, and phones and
 * merchants repeat requests after exactly such an outage. A repeated order looks new, because its row is missing. So while an
 * operator compares the books, nothing that may belong to the window is sent to a switch.
 *
 * - **A tap** is certainly new if its reader shows a time after the window and at most {@link READER_CLOCK_MS} from now.
 *   The reader sealed the date and time (9A, 9F21) together with the card data, so a repeated request cannot show another
 *   one. The clock of the reader is not trusted alone: one that is fast, or in another time zone than its merchant, would make
 *   an old tap look new. But its old tap would also have to arrive in the minutes around the time that it shows, and
 *   a reference that was held once stays held. The token proves nothing: an app gets a new one for an old request.
 * - **A tap on a link** that was created before the end of the window is held, however new the tap: another customer, or the
 *   same one, may have paid the order.
 * - **Another attempt, or a PIN,** for a transaction of before is held: the lost attempt may have been approved.
 * - **A new link** is held: its reference is that of an order, and the lost link for the same order may have been paid.
 * - **A refund or void** of a sale of before is held: a lost one may have returned the money. The age of the sale proves
 *   nothing, because a sale of last month may have been refunded in the window.
 * - **What was under way** at the moment of the backup is not sent and not reversed: it becomes Indeterminate and needs
 *   review. A reversal could cancel a sale that was reported as approved in the window.
 *
 * What remains: a customer who taps again, after the window, for an order of the window under its old reference, whose
 * first request was never repeated. The reader shows a new tap, and only the merchant knows the order. Where this happens,
 * the operator holds all taps whose reference the database does not know, with `holdsAllTaps`, until the books are compared.
 */

/** A request that could belong to the window. */
export type PossiblyLost =
  | {
      readonly kind: 'tap';
      /** The reader's date (9A, YYMMDD) and time (9F21, hhmmss), local to the merchant; undefined if it shows none. */
      readonly shown: { readonly date: string | undefined; readonly time: string | undefined };
      readonly timeZone: string;
      /** Undefined for a tap without a link. */
      readonly linkCreatedAtMs: number | undefined;
      /** When its reference was first used in this database; undefined if it was not. */
      readonly firstAttemptAtMs: number | undefined;
    }
  | { readonly kind: 'link' }
  /** A refund or void of a sale. */
  | { readonly kind: 'return'; readonly saleCreatedAtMs: number }
  /** A PIN for a transaction that awaits one, or a transaction without an outcome, by the last change of its row. */
  | { readonly kind: 'pin' | 'underWay'; readonly updatedAtMs: number };

/**
 * How far the clock of a reader may be wrong. A phone with automatic time is off by seconds. A longer time would let through
 * more old taps of readers whose clock is wrong; a shorter one would hold taps whose request took a while.
 */
export const READER_CLOCK_MS = 180_000;

/** Whether a request may belong to the lost window. */
export function mayBeLost(
  window: LostWindow,
  { acquirerId, merchantId }: MerchantKey,
  request: PossiblyLost,
  nowMs: number,
): boolean {
  if (isReleased(window, { acquirerId, merchantId })) return false;
  if (request.kind === 'link') return true;
  if (request.kind === 'return') return isBefore(request.saleCreatedAtMs, window);
  if (request.kind !== 'tap') return isBefore(request.updatedAtMs, window);
  const { linkCreatedAtMs, firstAttemptAtMs } = request;
  if (window.holdsAllTaps || isBefore(linkCreatedAtMs, window) || isBefore(firstAttemptAtMs, window)) return true;
  return !wasPresentedAfter(window, request, nowMs);
}

function isBefore(atMs: number | undefined, { untilMs }: LostWindow): boolean {
  return atMs !== undefined && atMs < untilMs;
}

function wasPresentedAfter(
  { fromMs, untilMs }: LostWindow,
  { shown: { date, time }, timeZone }: Extract<PossiblyLost, { kind: 'tap' }>,
  nowMs: number,
): boolean {
  const localMs = date === undefined || time === undefined ? undefined : readDigits(`20${date}${time}`);
  if (localMs === undefined) return false;
  // The earliest moment that the clock can mean, if summer time ended since.
  const offsets = [fromMs, untilMs, nowMs].map((ms) => readDigits(localDateTime(ms, timeZone))! - toSeconds(ms));
  const earliestMs = localMs - Math.max(...offsets);
  return earliestMs >= untilMs + READER_CLOCK_MS && Math.abs(earliestMs - nowMs) <= READER_CLOCK_MS;
}

const DIGITS = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/;

/** `YYYYMMDDhhmmss` as if it were UTC; undefined if it is no time. */
function readDigits(digits: string): number | undefined {
  const [, year, month, day, hours, minutes, seconds] = DIGITS.exec(digits) ?? [];
  const ms = Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(ms) ? undefined : ms;
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

/**
 * Holds a request that may belong to the lost window, and records its reference for the operator. A reference that was held
 * stays held, and one that the operator has released goes on.
 *
 * @param describe called only if a window is open
 * @throws HeldAfterRestore
 */
export async function holdIfLost(
  deps: Pick<TransactionDependencies, 'restoreHolds'> & {
    readonly clock: Pick<TransactionDependencies['clock'], 'nowMs'>;
    readonly directory: Pick<TransactionDependencies['directory'], 'lostWindow'>;
  },
  describe: () => { readonly held: HeldRequest; readonly request: PossiblyLost },
): Promise<void> {
  const window = deps.directory.lostWindow();
  if (window === undefined) return;
  const { held, request } = describe();
  const isLost = mayBeLost(window, held, request, deps.clock.nowMs());
  if (!isLost && (request.kind !== 'tap' || isReleased(window, held))) return;
  const known = await deps.restoreHolds.find(held);
  if (known === 'released' || (known === undefined && !isLost)) return;
  await deps.restoreHolds.hold(held);
  throw new HeldAfterRestore();
}

function isReleased({ released }: LostWindow, { acquirerId, merchantId }: MerchantKey): boolean {
  return released.has(`${acquirerId}`) || released.has(`${acquirerId} ${merchantId}`);
}

/** Whether a transaction was under way when the database was backed up, so that its outcome may be lost. */
export function wasUnderWay(
  { directory }: Pick<TransactionDependencies, 'directory'>,
  { acquirerId, merchantId, updatedAtMs }: MerchantKey & { readonly updatedAtMs: number },
  nowMs: number,
): boolean {
  const window = directory.lostWindow();
  const request = { kind: 'underWay', updatedAtMs } as const;
  return window !== undefined && mayBeLost(window, { acquirerId, merchantId }, request, nowMs);
}
