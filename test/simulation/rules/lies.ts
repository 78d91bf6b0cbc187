import type { Booking } from '../switch/ledger.ts';
import type { Statement } from '../switch/statements.ts';
import type { Books } from './books.ts';

/**
 * What the gateway cannot know, because the switch reported something else. Each lie excuses one disagreement of its
 * transaction, and no other. A lie that the switch itself contradicts excuses nothing if the contradiction was
 * received: then the transaction needs review.
 * | lie | what it excuses |
 * |---|---|
 * | it approves what it never booked | Approved, and not booked |
 * | it declines what it has booked, or requires a PIN for it, and never approves it | booked, and not Approved |
 * | it acknowledges a reversal of what remains booked, or cannot locate it, and does not approve it again | booked, and not Approved |
 * | it approves another amount than it has booked | Approved with that amount |
 * | it permanently refuses, or cannot locate, what it reverses, has responded to every attempt and acknowledged none | Approved, or refunded until then, and reversed |
 */

/** An approval of something that was never booked. */
export function isApprovalFalse({ statements }: Books, transactionId: string): boolean {
  return statements.some(
    (said) => said.transactionId === transactionId && said.meaning === 'approved' && said.stateThen === 'unknown',
  );
}

/** The approved amount according to the switch: an approval may name another amount than it has booked. */
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

/** The position of the last approval that does not repeat an earlier one. */
function indexOfNews(said: readonly Statement[], approvals: readonly Statement[]): number {
  const news = approvals.findLast((each, index) => {
    return approvals.findIndex(({ amountMinor }) => amountMinor === each.amountMinor) === index;
  });
  return news ? said.indexOf(news) : 0;
}

/**
 * "Done" for something that was not reversed. "Not found" is true while the original is in transit: then it must be
 * requested again when the original can no longer be in transit.
 */
export function isFalseAcknowledgement({ meaning, stateThen }: Statement): boolean {
  if (meaning === 'not found') return stateThen === 'booked';
  return (meaning === 'done' || meaning === 'repeated') && stateThen !== 'reversed';
}

/** What may count as an acknowledgement. */
export const ACKNOWLEDGES: readonly string[] = ['done', 'repeated', 'not found'];

/** What may be taken for the word that a reversal will never be done. */
export const REFUSES: readonly string[] = ['refused', 'not found'];

export const DECLINES: readonly string[] = ['declined', 'trouble', 'wants PIN'];

/** A refund that was reserved before an acknowledgement was stored leaves within this time after it. */
export const REFUND_UNDER_WAY_MS = 5_000;

/**
 * Every attempt of a reversal received a response, with at least one refusal and no acknowledgement: then, as far as
 * can be known at `untilMs`, it will not be done. An attempt without a response may have been done: then nothing is
 * certain.
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
  const hasEachResponse = reversals.every(({ number }) =>
    said.some((statement) => statement.number === number && !statement.isUnheard),
  );
  const isAcknowledged = said.some(
    ({ meaning, isUnheard, atMs, heardAtMs = atMs }) =>
      meaning === 'done' && !isUnheard && heardAtMs <= untilMs - REFUND_UNDER_WAY_MS,
  );
  return hasEachResponse && !isAcknowledged && said.some(({ meaning }) => REFUSES.includes(meaning));
}

/**
 * The switch has said both no and yes: whichever was true, money may have been given out by then. It says no by a
 * decline of the request, or by the acknowledgement of its reversal before the first approval that was stored. An
 * approval that no process could store is not known to anybody.
 */
export function wasApprovedLate({ statements }: Books, transactionId: string): boolean {
  const said = statements.filter((each) => each.transactionId === transactionId);
  const firstHeard = said.findIndex((each) => isApproval(each) && !each.isUnheard);
  const first = firstHeard < 0 ? said.length : firstHeard;
  const isDenied = said.some((each, index) => isDenial(each) || (index < first && isAcknowledgement(each)));
  return isDenied && said.some(isApproval);
}

function isApproval({ meaning }: Statement): boolean {
  return meaning === 'approved';
}

function isDenial({ about, meaning }: Statement): boolean {
  return about === 'request' && meaning !== 'approved';
}

function isAcknowledgement({ about, meaning }: Statement): boolean {
  return about === 'reversal' && ACKNOWLEDGES.includes(meaning);
}
