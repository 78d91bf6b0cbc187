/** The times that states.md orders a transaction by. The database adds them to its own clock. */

/** Besides the processor's deadline, an answer to the phone may take so long: accepting, committing, flushing. */
export const ANSWER_SLACK_SECONDS = 5;

/** After the deadline a response that was in time may still be committed for so long; then the `overdue` job decides. */
export const OUTCOME_GRACE_SECONDS = 2;

/** A job that starts this much after a deadline finds the grace over, whatever milliseconds two statements lie apart. */
export const OVERDUE_AFTER_SECONDS = OUTCOME_GRACE_SECONDS + 0.1;

/** For taps that never wait for a switch: time enough to flush the answer, then the job lets them rest. */
export const LOCAL_ANSWER_SECONDS = 10;

/** What an `api` process allows for, not knowing the route a worker will choose: the default deadline of a profile. */
export const LONGEST_DEADLINE_SECONDS = 40;

/** A job that starts this much after the time for a PIN finds it over, whatever milliseconds two statements lie apart. */
export const PIN_EXPIRY_AFTER_SECONDS = 0.1;

/** Bytes that would leave later than this after the decision to send them stay here: the answer would come too late. */
export const SEND_WITHIN_MS = 5_000;

/** A repeat of a reversal is due this much after the deadline of the attempt before it: two clocks are compared. */
export const REPEAT_AFTER_DEADLINE_SECONDS = 0.1;

/** An acknowledgement that leaves a doubt is asked for again so much later: an original still on its way is there by then. */
export const REVERSAL_CONFIRMED_AFTER_SECONDS = 60;
