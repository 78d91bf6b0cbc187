/** The time limits of a transaction. The database adds them to its own clock. */

/** Time beyond the processor's deadline for a response to the phone: accepting, committing, flushing. */
export const RESPONSE_SLACK_SECONDS = 5;

/**
 * Time after the deadline in which a response that was in time may still be committed; then the attempt is
 * overdue, and a worker decides it.
 */
export const OUTCOME_GRACE_SECONDS = 2;

/** An attempt that is overdue this long after a deadline is found with the grace over, even if two statements run milliseconds apart. */
export const OVERDUE_AFTER_SECONDS = OUTCOME_GRACE_SECONDS + 0.1;

/** For taps that never wait for a switch: enough time to flush the response. Then a worker lets them rest. */
export const LOCAL_RESPONSE_SECONDS = 10;

/**
 * The default deadline of a profile. A process that hands a tap over does not know the route that a worker will choose,
 * and allows for this time, or for the longest deadline of the acquirer's processors if one is longer.
 */
export const LONGEST_DEADLINE_SECONDS = 40;

/**
 * A job that starts this long after the time for a PIN finds it over, even if two statements run milliseconds apart.
 */
export const PIN_EXPIRY_AFTER_SECONDS = 0.1;

/**
 * Bytes that would be sent later than this after the decision to send them are not sent: the response would be too
 * late.
 */
export const SEND_WITHIN_MS = 5_000;

/**
 * A repeated reversal is due this long after the deadline of the attempt before it, because two clocks are compared.
 */
export const REPEAT_AFTER_DEADLINE_SECONDS = 0.1;

/**
 * After an acknowledgement that leaves a doubt, the reversal is sent again after this time. An original still in
 * transit has arrived by then.
 */
export const REVERSAL_CONFIRMED_AFTER_SECONDS = 60;

/**
 * For so long, a reference whose taps reached no switch may be submitted again. The month of its transaction may be archived
 * ten days later, and no attempt must be under way then: its outcome would find no row.
 */
export const REFERENCE_REUSABLE_DAYS = 180;

/**
 * A tap whose chip data have an older date (9A) is refused, so the record by which a copy of it is found can be deleted. No
 * issuer accepts a cryptogram of that age; two years also cover a reader whose clock is wrong by a whole year.
 */
export const TAP_USABLE_DAYS = 730;
/**
 * The first date (YYMMDD) that a reader with a working clock can have. Readers without one count from an earlier date;
 * their taps are accepted, and never forgotten.
 */
export const FIRST_TAP_DATE = '260101';

/** @param date YYMMDD, as in 9A; two digits are enough until 2099 */
export function isTapTooOld(date: string | undefined, nowMs: number): boolean {
  const oldest = new Date(nowMs - TAP_USABLE_DAYS * 86_400_000).toISOString().slice(2, 10).replaceAll('-', '');
  return date !== undefined && date >= FIRST_TAP_DATE && date < oldest && nowMs > Date.UTC(2026);
}
