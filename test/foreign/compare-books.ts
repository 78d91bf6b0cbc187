import { Disposition } from '../../src/payments/model/disposition.ts';
import { TransactionType } from '../../src/payments/model/transaction.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import type { BookEntry, SwitchBooks } from './python-switch.ts';

/** What the merchant's client is shown of a sale or refund. */
export interface ShownTransaction {
  readonly acquirerId: number;
  readonly id: string;
  readonly type: number;
  readonly merchantId: string;
  readonly merchantReference: string;
  readonly xTid: string;
  readonly tid: string;
  readonly mid: string;
  readonly rrn: string | null;
  readonly originalId: string | null;
  readonly disposition: number | null;
  readonly needsReview: boolean;
  readonly amountMinor: number;
  readonly approvedMinor: number | null;
}

/** Sales and refunds that were not among `earlier`. */
export async function shownTransactions(
  database: Database,
  earlier: ReadonlySet<string> = new Set(),
): Promise<ShownTransaction[]> {
  const { rows } = await database.query<ShownTransaction>(
    `select acquirer_id as "acquirerId", id, type, merchant_id as "merchantId", merchant_reference as "merchantReference",
       x_tid as "xTid", tid, mid, rrn, original_id as "originalId", disposition, needs_review as "needsReview",
       amount_minor::float8 as "amountMinor", approved_minor::float8 as "approvedMinor"
     from transactions where type <> $1 order by created_at, id`,
    [TransactionType.Void],
  );
  return rows.filter(({ id }) => !earlier.has(id));
}

/**
 * Compares the books of a switch with what each client was shown, and returns each contradiction as a sentence. It uses
 * no key of the gateway's choosing but the pair of terminal and DE37, which the client sees as the reference of the
 * provider; everything else is what the switch has booked.
 */
export function compareBooks({ entries, refused }: SwitchBooks, shown: readonly ShownTransaction[]): string[] {
  const bookings = entries.filter(({ what }) => what === 'sale' || what === 'refund');
  const live = (each: readonly BookEntry[]) => each.filter(({ reversedBy }) => reversedBy === null);
  const isOf = (transaction: ShownTransaction) => (entry: BookEntry) =>
    entry.tid === transaction.tid && entry.mid === transaction.mid && entry.rrn === transaction.rrn;
  const found: string[] = refused.map(({ mti, reason }) => `a ${mti} breaks a rule of the README: ${reason}`);
  for (const transaction of shown) {
    const booked = live(bookings.filter(isOf(transaction)));
    const expected = transaction.disposition === Disposition.Approved ? 1 : 0;
    const words = `${wordsOf(transaction)} is booked ${booked.length} times${faultsOf(bookings.filter(isOf(transaction)))}`;
    // A review excuses one amount, that of its transaction.
    if (booked.length > expected && !(transaction.needsReview && booked.length === expected + 1)) found.push(words);
    if (booked.length < expected && !transaction.needsReview) found.push(words);
    for (const { amount } of booked)
      if (amount !== (transaction.approvedMinor ?? transaction.amountMinor)) found.push(`${words} with ${amount}`);
  }
  for (const entry of bookings)
    if (!shown.some((transaction) => isOf(transaction)(entry))) found.push(`${entryWords(entry)} is not shown`);
  for (const reversal of entries.filter(({ what }) => what === 'reversal')) {
    const original = reversal.original == null ? undefined : entries[reversal.original]!;
    if (original && (original.tid !== reversal.tid || original.mid !== reversal.mid))
      found.push(`a reversal of terminal ${reversal.tid} cancelled ${entryWords(original)}`);
  }
  for (const taken of entries.filter(({ what }) => what === 'duplicate'))
    found.push(`a request of ${taken.amount} at ${taken.tid} was taken for ${entryWords(entries[taken.original!]!)}`);
  for (const sale of bookings.filter(({ what }) => what === 'sale')) {
    // 127.11 names the first booking of a request that was booked twice.
    if (bookings.some((other) => other.entry < sale.entry && sameRequest(other, sale))) continue;
    const sold = sum(live(bookings.filter((other) => sameRequest(other, sale))));
    const refunds = live(bookings.filter((refund) => refund.what === 'refund' && refund.sale === sale.entry));
    if (sum(refunds) > sold)
      found.push(`${entryWords(sale)}: ${sold} sold, ${sum(refunds)} refunded${faultsOf(refunds)}`);
    for (const { tid } of refunds) if (tid !== sale.tid) found.push(`terminal ${tid} refunded ${entryWords(sale)}`);
  }
  for (const refund of bookings.filter(({ what }) => what === 'refund'))
    if (refund.sale === null) found.push(`${entryWords(refund)} names no sale in the books`);
  return found;
}

const sum = (entries: readonly BookEntry[]) => entries.reduce((total, { amount }) => total + amount, 0);

function sameRequest(one: BookEntry, other: BookEntry): boolean {
  return one.what === other.what && one.tid === other.tid && one.mid === other.mid && one.rrn === other.rrn;
}

function faultsOf(entries: readonly BookEntry[]): string {
  const faults = new Set(entries.map(({ fault }) => fault).filter(Boolean));
  return faults.size === 0 ? '' : ` (${[...faults].join(', ')})`;
}

function wordsOf({ type, amountMinor, tid, disposition, needsReview }: ShownTransaction): string {
  const name = Object.entries(Disposition).find(([, id]) => id === disposition)?.[0] ?? 'open';
  const kind = type === TransactionType.Refund ? 'refund' : 'sale';
  return `a ${kind} of ${amountMinor} at ${tid}, shown as ${name}${needsReview ? ' and in review' : ''},`;
}

function entryWords({ what, amount, tid, acquirer, fault }: BookEntry): string {
  return `the ${what} of ${amount} at ${tid} of acquirer ${acquirer}${fault ? ` (${fault})` : ''}`;
}
