import { DEADLINE_MS } from '../simulated-tenant.ts';
import type { SentRequest } from '../switch/sent-request.ts';
import type { Statement } from '../switch/statements.ts';
import type { Books } from './books.ts';

/** What must never be sent. */
export function faultsOfRequests(books: Books): string[] {
  const repeats = books.hadFaults ? [] : books.requests.flatMap((request) => faultsOfRepeat(books, request));
  return [...faultsOfStans(books), ...repeats];
}

/** One number identifies one financial request. */
function faultsOfStans({ requests }: Books): string[] {
  const stans = requests
    .filter(({ kind }) => kind === 'sale' || kind === 'refund')
    .map(({ message }) => String(message.stan));
  return stans.filter((stan, index) => stans.indexOf(stan) !== index).map((stan) => `STAN ${stan} was sent twice`);
}

/** A reversal is not repeated while its previous attempt may still receive a response in time, if no process froze. */
function faultsOfRepeat({ requests, statements }: Books, repeat: SentRequest): string[] {
  if (repeat.kind !== 'reversal') return [];
  const tooSoon = requests.find(
    (before) =>
      before.kind === 'reversal' &&
      before.key === repeat.key &&
      before.number < repeat.number &&
      repeat.writtenAtMs < before.writtenAtMs + DEADLINE_MS &&
      !statements.some(({ number, atMs }) => number === before.number && atMs <= repeat.writtenAtMs),
  );
  return tooSoon ? [`request ${repeat.number} repeats request ${tooSoon.number} before its deadline`] : [];
}

/**
 * What the switch has reversed is not reversed again unless the switch says something new about it: a repeated approval is
 * nothing new. A strict switch refuses that reversal, and a person would have to find out why. The acknowledgement is
 * beyond doubt if its reversal cannot have overtaken its original: it was on the same connection, or the original
 * received a response.
 */
export function faultsOfNeedlessReversals(books: Books): string[] {
  return books.hadFaults ? [] : books.requests.flatMap((request) => faultsOfNeedless(books, request));
}

function faultsOfNeedless({ requests, statements }: Books, again: SentRequest): string[] {
  if (again.kind !== 'reversal') return [];
  // Two acquirers may have the same key.
  const before = requests.filter(
    ({ key, transactionId, number }) =>
      key === again.key && transactionId === again.transactionId && number < again.number,
  );
  const original = before.find(({ kind }) => kind !== 'reversal');
  const about = statements.filter(({ number }) => number === original?.number);
  const certain = before.filter(
    ({ kind, connectionId, number }) =>
      kind === 'reversal' &&
      (connectionId === original?.connectionId || about.some(({ sentBefore = number }) => sentBefore < number)),
  );
  const done = statements.find(
    ({ meaning, number, isUnheard, sentBefore = again.number }) =>
      meaning === 'done' && !isUnheard && sentBefore < again.number && certain.some((sent) => sent.number === number),
  );
  if (!done) return [];
  const said = (each: Statement) => `${each.meaning} ${each.amountMinor} ${each.authorizationCode}`;
  const isBefore = ({ sentBefore = 0 }: Statement) => sentBefore < done.number;
  const known = new Set(about.filter(isBefore).map(said));
  // A repeated response of unknown meaning may be about a second booking.
  const isNews = about.some((each) => !isBefore(each) && (each.meaning !== 'approved' || !known.has(said(each))));
  return isNews ? [] : [`request ${again.number} reverses again what the switch has reversed`];
}
