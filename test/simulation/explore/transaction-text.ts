import type { Transaction } from '../../../src/transactions/model/transaction.ts';

/** Names and times that decide nothing. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'createdAtMs',
  'updatedAtMs',
  'chipTags',
  'sealedCard',
  'panHash',
  'fingerprint',
  'earlierAttempts',
  'providerFields',
  'cardTags',
]);

const known = new WeakMap<Transaction, string>();

/** Everything of a transaction on which later decisions may depend. Transactions are never modified, only replaced. */
export function transactionText(transaction: Transaction): string {
  let text = known.get(transaction);
  if (text === undefined) {
    const told = Object.entries(transaction).filter(([name, value]) => value !== null && !LEFT_OUT.has(name));
    text = JSON.stringify(told.map(([name, value]) => `${name}${String(value)}`).sort());
    known.set(transaction, text);
  }
  return text;
}
