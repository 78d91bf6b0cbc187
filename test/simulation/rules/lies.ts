import type { Booking } from '../switch/ledger.ts';
import type { Statement } from '../switch/statements.ts';
import type { Books } from './books.ts';

/**
 * What the gateway cannot know, because the switch has said otherwise. Each lie excuses one disagreement of the transaction that
 * it was told about, and no other. A lie that the switch itself contradicts excuses nothing, if the contradiction was heard:
 * then a person must look.
 *
 * | lie | what it excuses |
 * |---|---|
 * | it approves what it never booked | Approved, and not booked |
 * | it declines, or asks for a PIN, what it has booked, and never approves that | booked, and not Approved |
 * | it acknowledges a reversal of what stands afterwards, or cannot locate it, and approves it no more | booked, and not Approved |
 * | it approves another amount than it has booked | Approved with that amount |
 * | it refuses for good, or cannot locate, what it reverses, has answered every attempt and acknowledged none | Approved, or refunded until then, and reversed |
 */

/** Approved of what was never booked. */
export function isApprovalFalse({ statements }: Books, transactionId: string): boolean {
  return statements.some(
    (said) => said.transactionId === transactionId && said.meaning === 'approved' && said.stateThen === 'unknown',
  );
}

/** What was approved as far as the switch tells: the amount of an approval may be another than it has booked. */
export function approvedMinorOf({ statements }: Books, { key, bookedMinor }: Booking): number {
  const said = statements.filter((statement) => statement.key === key && statement.meaning === 'approved');
  return Math.max(bookedMinor, ...said.map(({ amountMinor }) => amountMinor ?? 0));
}

/** A booking that the switch denies: it was declined and never approved, or its reversal was acknowledged. */
export function isDenied({ statements }: Books, { key }: Booking): boolean {
  const said = statements.filter((statement) => statement.key === key);
  const approvals = said.filter(({ meaning, isUnheard }) => meaning === 'approved' && !isUnheard);
  const isDeclined = said.some(({ meaning }) => DECLINES.includes(meaning));
  const isAcknowledged = said.slice(indexOfNews(said, approvals)).some(isFalseAcknowledgement);
  return isAcknowledged || (isDeclined && approvals.length === 0);
}

/** Where the last approval was said that is no repetition of one before it. */
function indexOfNews(said: readonly Statement[], approvals: readonly Statement[]): number {
  const news = approvals.findLast((each, index) => {
    return approvals.findIndex(({ amountMinor }) => amountMinor === each.amountMinor) === index;
  });
  return news ? said.indexOf(news) : 0;
}

/**
 * "Done" of what was not reversed. "Not found" is true while the original is on its way: then it must be asked for again when it
 * cannot be under way any more.
 */
function isFalseAcknowledgement({ meaning, stateThen }: Statement): boolean {
  if (meaning === 'not found') return stateThen === 'booked';
  return (meaning === 'done' || meaning === 'repeated') && stateThen !== 'reversed';
}

/** What may be taken for an acknowledgement. */
export const ACKNOWLEDGES: readonly string[] = ['done', 'repeated', 'not found'];

/** What may be taken for the word that a reversal will never be done. */
const REFUSES: readonly string[] = ['refused', 'not found'];

const DECLINES: readonly string[] = ['declined', 'trouble', 'wants PIN'];

/** A refund that was reserved before an acknowledgement was stored leaves within this time after it. */
const UNDER_WAY_MS = 5_000;

/**
 * Every attempt of a reversal was answered, with a refusal among the answers and no acknowledgement: then it will not be done, as
 * far as anybody can know at `untilMs`. An attempt without an answer may have been the one that was done: then nothing is certain.
 */
export function isRefused(
  { statements, requests }: Books,
  transactionId: string,
  untilMs = Number.POSITIVE_INFINITY,
): boolean {
  const said = statements.filter(({ transactionId: id, atMs }) => id === transactionId && atMs <= untilMs);
  const reversals = requests.filter(
    (sent) => sent.transactionId === transactionId && sent.kind === 'reversal' && sent.writtenAtMs <= untilMs,
  );
  const isEachAnswered = reversals.every(({ number }) =>
    said.some((statement) => statement.number === number && !statement.isUnheard),
  );
  const isAcknowledged = said.some(
    ({ meaning, isUnheard, atMs, heardAtMs = atMs }) =>
      meaning === 'done' && !isUnheard && heardAtMs <= untilMs - UNDER_WAY_MS,
  );
  return isEachAnswered && !isAcknowledged && said.some(({ meaning }) => REFUSES.includes(meaning));
}

/** The switch has said no, or that it does not know, and yes: whichever was true, money may have been given out by then. */
export function wasApprovedLate({ statements }: Books, transactionId: string): boolean {
  const said = statements.filter((each) => each.transactionId === transactionId && each.about === 'request');
  const hasApproved = said.some(({ meaning }) => meaning === 'approved');
  return hasApproved && said.some(({ meaning }) => meaning !== 'approved');
}
