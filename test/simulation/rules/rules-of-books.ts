import { Disposition } from '../../../src/payments/model/disposition.ts';
import { type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Execution } from '../explore/execution.ts';
import { booksOf } from '../explore/replay.ts';
import type { Entry, HonestSwitch } from '../honest/honest-switch.ts';
import type { Row } from '../memory-rows.ts';
import { acquirerOf } from '../switch/dialect.ts';
import type { Books } from './books.ts';
import { isInReview } from './rules-of-money.ts';
import { faultsOfNeedlessReversals } from './rules-of-requests.ts';
import { faultsOfRest } from './rules-of-rest.ts';
import { faultsOfTelling } from './rules-of-telling.ts';

/**
 * The rules for the books of an honest switch. They read what it has booked for the card at each merchant, and what the
 * clients got. They do not look at how the gateway or the switch came to that, and nothing excuses a difference but
 * a review: for the amount that it names, and for no other.
 */
export function faultsOfHonestBooks(execution: Execution): string[] {
  const { store, honest } = execution;
  const books = booksOf(execution);
  const rows = [...store.rows.values()];
  const ofRows = rows.flatMap((row) =>
    [...faultsOfReview(row), ...faultsOfRest(books, row), ...faultsOfTelling(books, row.transaction)].map(
      (fault) => `${row.transaction.id} ${fault}`,
    ),
  );
  const transactions = rows.map(({ transaction }) => transaction);
  const entries = knowableEntries(execution, honest!);
  const accounts = new Set([...transactions.map(accountOf), ...entries.map(({ merchant }) => merchant)]);
  const known = { execution, books, transactions, entries, withdrawn: withdrawalsOf(execution, honest!) };
  return [
    ...ofRows,
    ...faultsOfNeedlessReversals(books),
    ...[...accounts].flatMap((account) => faultsOfAccount(account, known)),
    ...faultsOfOrders(execution, entries),
  ];
}

/**
 * What the books hold. If the network doubled a request and the switch booked it twice, the gateway can know of the
 * second booking only from the response: without that it does not count.
 */
function knowableEntries({ statements }: Execution, { entries, deliveries }: HonestSwitch): Entry[] {
  const isHeard = (index: number) =>
    deliveries.some(({ entry, statement }) => entry === index && !statements[statement]!.isUnheard);
  const groups = Map.groupBy(entries.keys(), (index) => entries[index]!.request);
  return [...groups.values()].flatMap((indices) => {
    const heard = Math.max(1, indices.filter(isHeard).length);
    const booked = indices.map((index) => entries[index]!).filter(({ state }) => state === 'booked');
    return booked.slice(0, Math.max(0, booked.length - (indices.length - heard)));
  });
}

function accountOf({ acquirerId, merchantId }: Transaction): string {
  return `${acquirerId} ${merchantId}`;
}

function isOfAccount(account: string, { message, merchant }: Entry): boolean {
  const [, mid = ''] = merchant.split(' ');
  return account === merchant || account === `${acquirerOf(message)} ${mid.slice(-4)}`;
}

/** What the issuer has declined after the switch had approved it. */
interface Withdrawal {
  readonly entry: Entry;
  /** A process could store the decline. */
  readonly isHeard: boolean;
}

/**
 * The switch says only once that an issuer has declined after all. If the process that received this died before it could
 * store it, the gateway cannot know of it.
 */
function withdrawalsOf({ statements }: Execution, { entries, deliveries }: HonestSwitch): Withdrawal[] {
  return entries.flatMap((entry, index) => {
    if (entry.state !== 'declined') return [];
    const declines = deliveries.filter((each) => each.entry === index).map(({ statement }) => statements[statement]!);
    return [{ entry, isHeard: declines.some(({ meaning, isUnheard }) => meaning === 'declined' && !isUnheard) }];
  });
}

interface Known {
  readonly execution: Execution;
  readonly books: Books;
  readonly transactions: readonly Transaction[];
  readonly entries: readonly Entry[];
  readonly withdrawn: readonly Withdrawal[];
}

function faultsOfAccount(account: string, known: Known): string[] {
  if (account.includes('TEST')) return []; // the name of the same account at the switch
  const { books, transactions, entries, withdrawn } = known;
  const mine = transactions.filter((each) => accountOf(each) === account && each.type !== TransactionType.Void);
  const booked = sum(entries.filter((entry) => isOfAccount(account, entry)).map(({ amountMinor }) => amountMinor));
  const reported = sum(mine.map(reportedMinor));
  const doubts = [
    ...mine.filter((each) => isInReview(books, each)).map(({ amountMinor }) => [-(amountMinor ?? 0), amountMinor ?? 0]),
    ...withdrawn.flatMap(({ entry, isHeard }) =>
      isOfAccount(account, entry) && !isHeard ? [[entry.amountMinor]] : [],
    ),
  ];
  const faults: string[] = [];
  if (!isExplained(booked - reported, doubts))
    faults.push(`merchant ${account} has ${booked} in the books, and its clients got ${reported}`);
  if (booked + excusedMinor(account, known) < 0)
    faults.push(`merchant ${account} has given ${-booked} more than it has taken`);
  return faults;
}

/**
 * What a merchant may have given beyond what it has taken, each amount once:
 * - a refund that the switch has booked once more, if its review says so
 * - a refund of a sale that the issuer has declined meanwhile: it was under way before that was known. `faultsOfReview`
 *   finds one that was accepted later.
 */
function excusedMinor(account: string, { execution, books, entries, withdrawn }: Known): number {
  const mine = entries.filter((entry) => isOfAccount(account, entry));
  const transactionOf = ({ request }: Entry) =>
    execution.store.rows.get(execution.requests[request - 1]!.transactionId)!.transaction;
  const doubled = mine.filter(
    ({ request, amountMinor }, index) => amountMinor < 0 && mine.findIndex((each) => each.request === request) < index,
  );
  const doubledMinor = sum(
    doubled.filter((entry) => isInReview(books, transactionOf(entry))).map(({ amountMinor }) => -amountMinor),
  );
  const unfunded = withdrawn.map(({ entry, isHeard }) => {
    const sale = transactionOf(entry);
    if (!isOfAccount(account, entry) || (isHeard && !isInReview(books, sale))) return 0;
    const refunds = mine.filter((each) => each.amountMinor < 0 && transactionOf(each).originalId === sale.id);
    return Math.min(entry.amountMinor, -sum(refunds.map(({ amountMinor }) => amountMinor)));
  });
  return doubledMinor + sum(unfunded.filter((minor) => minor > 0));
}

function faultsOfReview({ usesReview }: Row): string[] {
  return usesReview ? ['moves money that depends on an amount in review'] : [];
}

/** The effect of a transaction on the account, as the gateway reported it. */
function reportedMinor({ type, disposition, approvedMinor, amountMinor }: Transaction): number {
  if (disposition !== Disposition.Approved) return 0;
  return (approvedMinor ?? amountMinor ?? 0) * (type === TransactionType.Refund ? -1 : 1);
}

/** Whether a difference disappears with one of the changes of each doubt, or none. */
function isExplained(difference: number, [first, ...others]: readonly (readonly number[])[]): boolean {
  if (first === undefined) return difference === 0;
  return [0, ...first].some((change) => isExplained(difference + change, others));
}

/** A link is paid once, and so is the order of a till. */
function faultsOfOrders({ store, requests }: Execution, entries: readonly Entry[]): string[] {
  const paid = new Map<string, Set<string>>();
  for (const { request, amountMinor } of entries) {
    const { transactionId } = requests[request - 1]!;
    const { consumerId, acquirerId, merchantId, merchantReference } = store.rows.get(transactionId)!.transaction;
    const order = `order ${acquirerId} ${merchantId} ${merchantReference}`;
    for (const name of amountMinor < 0 ? [] : [order, ...(consumerId === null ? [] : [`link ${consumerId}`])])
      paid.set(name, (paid.get(name) ?? new Set()).add(transactionId));
  }
  return [...paid].flatMap(([name, taps]) => (taps.size > 1 ? [`${name} is paid twice`] : []));
}

function sum(amounts: readonly number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
