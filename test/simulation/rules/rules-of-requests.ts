import { DEADLINE_MS } from '../simulated-tenant.ts';
import type { SentRequest } from '../switch/sent-request.ts';
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

/** A reversal is not repeated while its previous attempt may still be answered in time, if no process froze. */
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
