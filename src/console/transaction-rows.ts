import { dispositionName } from '../payments/model/disposition.ts';
import { currencyOf, formatAmount } from '../payments/model/money.ts';
import { statusName } from '../payments/model/status.ts';
import { TRANSACTION_TYPE_NAMES } from '../payments/model/transaction.ts';
import type { Directory } from '../payments/ports/directory-ports.ts';
import { csvLine } from './csv.ts';
import type { ListedTransaction } from './store/transaction-list.ts';

/** A transaction as the console's list shows it. */
export type TransactionRow = ReturnType<typeof transactionRow>;

export function transactionRow(row: ListedTransaction, directory: Directory) {
  const { amountMinor, currency, routeId, status, disposition, type, createdAt, ...shown } = row;
  const { acquirerId, merchantId } = row;
  const amount = amountMinor === null || currency === null ? null : formatAmount(amountMinor, currencyOf(currency));
  return {
    ...shown,
    ...{ amount, currency, routeId },
    type: TRANSACTION_TYPE_NAMES[type],
    status: statusName(status),
    disposition: disposition === null ? null : dispositionName(disposition),
    merchant: directory.merchant(acquirerId, merchantId)?.name ?? null,
    processorId: directory.routes(acquirerId).find((route) => route.id === routeId)?.processorId ?? null,
    createdAt: createdAt.toISOString(),
  };
}

const CSV_COLUMNS: readonly (readonly [
  title: string,
  of: (row: TransactionRow) => string | number | boolean | null,
])[] = [
  ['id', ({ id }) => id],
  ['created_utc', ({ createdAt }) => createdAt],
  ['type', ({ type }) => type],
  ['status', ({ status }) => status],
  ['outcome', ({ disposition }) => disposition],
  ['response_code', ({ responseCode }) => responseCode],
  ['needs_review', ({ needsReview }) => needsReview],
  ['amount', ({ amount }) => amount],
  ['currency', ({ currency }) => currency],
  ['scheme', ({ scheme }) => scheme],
  ['masked_pan', ({ maskedPan }) => maskedPan],
  ['acquirer', ({ acquirerId }) => acquirerId],
  ['processor', ({ processorId }) => processorId],
  ['merchant', ({ merchantId }) => merchantId],
  ['merchant_name', ({ merchant }) => merchant],
  ['terminal', ({ xTid }) => xTid],
  ['tid', ({ tid }) => tid],
  ['stan', ({ stan }) => stan],
  ['rrn', ({ rrn }) => rrn],
  ['merchant_reference', ({ merchantReference }) => merchantReference],
];

export const CSV_TITLES = csvLine(CSV_COLUMNS.map(([title]) => title));

export function transactionCsvLine(row: TransactionRow): string {
  return csvLine(CSV_COLUMNS.map(([, of]) => of(row)));
}
