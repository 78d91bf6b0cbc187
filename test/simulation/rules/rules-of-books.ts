import { Disposition } from '../../../src/payments/model/disposition.ts';
import { type Transaction, TransactionType } from '../../../src/payments/model/transaction.ts';
import type { Execution } from '../explore/execution.ts';
import { booksOf } from '../explore/replay.ts';
import type { Entry, HonestSwitch } from '../honest/honest-switch.ts';
import { acquirerOf } from '../switch/dialect.ts';
import { isInReview } from './rules-of-money.ts';
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
    [...faultsOfRest(books, row), ...faultsOfTelling(books, row.transaction)].map(
      (fault) => `${row.transaction.id} ${fault}`,
    ),
  );
  const transactions = rows.map(({ transaction }) => transaction);
  const entries = knowableEntries(execution, honest!);
  const accounts = new Set([...transactions.map(accountOf), ...entries.map(({ merchant }) => merchant)]);
  const isDoubtful = (transaction: Transaction) => isInReview(books, transaction);
  // The switch has booked a request once more, and the review of its transaction names that amount.
  const doubled = entries.filter(({ request }, index) => entries.findIndex((each) => each.request === request) < index);
  // The issuer has declined a sale after all, and a refund of it may have been under way before that was known.
  const withdrawn = honest!.entries.filter(({ state, amountMinor }) => state === 'declined' && amountMinor > 0);
  const reviewed = [...doubled, ...withdrawn].filter(({ request }) => {
    const { transactionId } = execution.requests[request - 1]!;
    return isDoubtful(store.rows.get(transactionId)!.transaction);
  });
  const reviewedMinor = sum(reviewed.map(({ amountMinor }) => Math.abs(amountMinor)));
  return [
    ...ofRows,
    ...[...accounts].flatMap((account) => faultsOfAccount(account, transactions, entries, isDoubtful, reviewedMinor)),
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

function faultsOfAccount(
  account: string,
  transactions: readonly Transaction[],
  entries: readonly Entry[],
  isDoubtful: (transaction: Transaction) => boolean,
  reviewedMinor: number,
): string[] {
  if (account.includes('TEST')) return []; // the name of the same account at the switch
  const mine = transactions.filter((each) => accountOf(each) === account && each.type !== TransactionType.Void);
  const booked = sum(entries.filter((entry) => isOfAccount(account, entry)).map(({ amountMinor }) => amountMinor));
  const reported = sum(mine.map(reportedMinor));
  const doubts = mine.filter(isDoubtful).map(({ amountMinor }) => amountMinor ?? 0);
  const faults: string[] = [];
  if (!isExplained(booked - reported, doubts))
    faults.push(`merchant ${account} has ${booked} in the books, and its clients got ${reported}`);
  if (booked + reviewedMinor < 0) faults.push(`merchant ${account} has given ${-booked} more than it has taken`);
  return faults;
}

/** The effect of a transaction on the account, as the gateway reported it. */
function reportedMinor({ type, disposition, approvedMinor, amountMinor }: Transaction): number {
  if (disposition !== Disposition.Approved) return 0;
  return (approvedMinor ?? amountMinor ?? 0) * (type === TransactionType.Refund ? -1 : 1);
}

/** Whether a difference is the sum of amounts that are in review, each once or not at all. */
function isExplained(difference: number, [first, ...others]: readonly number[]): boolean {
  if (first === undefined) return difference === 0;
  return [-first, 0, first].some((change) => isExplained(difference + change, others));
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
