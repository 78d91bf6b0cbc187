import type { ReceiptData, TransactionView } from '#schemas/transaction';
import { formatMoment, localDateTime } from '../kits/processor-kit/field-values.ts';
import { Disposition, dispositionName } from '../payments/model/disposition.ts';
import { currencyOf, formatAmount } from '../payments/model/money.ts';
import { statusName } from '../payments/model/status.ts';
import {
  type AttemptDetail,
  type ShownTransaction,
  TRANSACTION_TYPE_NAMES,
  type Transaction,
  toldMinor,
} from '../payments/model/transaction.ts';
import type { MerchantRecord } from '../payments/ports/directory-ports.ts';
import type { CardVault } from '../payments/ports/switch-ports.ts';
import { indexChipTags, listChipTags } from '../payments/taps/read-tap.ts';

/** A transaction as 2.1 shows it to its tenants. `merchant` is its current record. */
export function transactionView(
  transaction: ShownTransaction,
  merchant: MerchantRecord | undefined,
  vault: CardVault,
): TransactionView {
  const { responseCode, createdAtMs, updatedAtMs, disposition } = transaction;
  const { amount, amountMinor } = amountOf(transaction);
  return {
    id: transaction.id,
    passthroughUserId: transaction.userId === null ? transaction.userClaim : null,
    merchantId: transaction.merchantId,
    merchantTransactionReference: transaction.merchantReference,
    details: detailsOf(transaction),
    latitude: transaction.latitude ?? '',
    longitude: transaction.longitude ?? '',
    deviceinstallationId: transaction.deviceInstallationId,
    transactionstatusId: transaction.status,
    status: statusName(transaction.status),
    transactionDispositionId: disposition,
    disposition: disposition === null ? null : dispositionName(disposition),
    amount,
    amountMinor,
    currency: transaction.currency,
    responseCode: responseCode !== null && /^\d+$/.test(responseCode) ? Number(responseCode) : null,
    transactionTypeId: transaction.type,
    type: TRANSACTION_TYPE_NAMES[transaction.type],
    originalTransactionId: transaction.originalId,
    acquirerId: transaction.acquirerId,
    userId: transaction.userId ?? '',
    transactionFeesConfigId: merchant?.feesConfigId ?? null,
    transactionFee: merchant?.fee ?? null,
    authorisationCode: disposition === null ? null : (transaction.authorizationCode ?? ''),
    createdAt: formatMoment(createdAtMs),
    updatedAt: formatMoment(updatedAtMs),
    receiptData: disposition === null ? {} : receiptOf(transaction, amount ?? '', merchant, vault),
  };
}

function detailsOf({ earlierAttempts, chipTags, maskedPan, routeId }: ShownTransaction): TransactionView['details'] {
  const last = { tags: listChipTags(chipTags), maskedPAN: maskedPan ?? '', paymentProviderId: routeId };
  return earlierAttempts === null ? [last] : [...earlierAttempts.map(detailOf), last];
}

function detailOf(attempt: AttemptDetail): TransactionView['details'][number] {
  return { ...attempt, tags: [...attempt.tags] };
}

function receiptOf(
  transaction: ShownTransaction,
  amount: string,
  merchant: MerchantRecord | undefined,
  vault: CardVault,
): ReceiptData {
  const chip = indexChipTags(transaction.chipTags);
  const tag = (number: number) => chip.hex(number) ?? '';
  const label = latinText(chip.value(0x50));
  const currency = transaction.currency ?? '';
  return {
    effectiveDate: isoDate(tag(0x5f25)) ?? '',
    expiryDate: expiryOf(transaction, vault),
    authorizationCode: transaction.authorizationCode ?? '',
    tid: transaction.tid ?? '',
    transactionReference: transaction.id,
    merchantName: merchant?.name ?? '',
    formattedMerchantAddress: [merchant?.street, merchant?.city, merchant?.country].filter(Boolean).join(', '),
    transactionType: TRANSACTION_TYPE_NAMES[transaction.type],
    approvalText: approvalText(transaction),
    aid: tag(0x84) || tag(0x4f),
    amount: `${currency} ${amount}`.trim(),
    currency,
    applicationLabel: label,
    applicationPreferredName: latinText(chip.value(0x9f12)) || null,
    association: label || (transaction.scheme ?? ''),
    isoResponseCode: transaction.responseCode ?? '',
    cryptogram: tag(0x9f26),
    cryptogramType: CRYPTOGRAM_TYPES[Number.parseInt(tag(0x9f27).slice(0, 1), 16) >> 2] ?? '',
    tvr: tag(0x95),
    date: isoDate(tag(0x9a)) ?? localDate(transaction, merchant),
    time: clockTime(tag(0x9f21)) ?? localTime(transaction, merchant),
    maskedPan: transaction.maskedPan ?? '',
  };
}

/** Keyed by the two top bits of 9F27. */
const CRYPTOGRAM_TYPES: readonly (string | undefined)[] = ['AAC', 'TC', 'ARQC'];

function approvalText({ disposition }: ShownTransaction): string {
  if (disposition === Disposition.Approved) return 'Approved';
  return disposition === Disposition.Voided ? 'Reversed' : 'Declined';
}

/** The amount to show, in both forms; null for a transaction whose amount could not be read. */
export function amountOf(transaction: Parameters<typeof toldMinor>[0] & Pick<Transaction, 'currency'>) {
  const { currency } = transaction;
  const amountMinor = toldMinor(transaction);
  if (amountMinor === null || currency === null) return { amount: null, amountMinor: null, currency: null };
  return { amount: formatAmount(amountMinor, currencyOf(currency)), amountMinor, currency };
}

/** If the reader sent no date (9A): server date in the merchant's time zone. */
function localDate({ createdAtMs }: ShownTransaction, merchant: MerchantRecord | undefined): string {
  const local = localDateTime(createdAtMs, merchant?.timeZone ?? 'UTC');
  return `${local.slice(0, 4)}/${local.slice(4, 6)}/${local.slice(6, 8)}`;
}

/** If the reader sent no time (9F21): server time in the merchant's time zone. */
function localTime({ createdAtMs }: ShownTransaction, merchant: MerchantRecord | undefined): string {
  const local = localDateTime(createdAtMs, merchant?.timeZone ?? 'UTC');
  return `${local.slice(8, 10)}:${local.slice(10, 12)}`;
}

/** hhmmss in BCD as HH:mm; undefined if it is not a valid time. */
function clockTime(packed: string): string | undefined {
  const match = /^([01]\d|2[0-3])([0-5]\d)[0-5]\d$/.exec(packed);
  return match ? `${match[1]}:${match[2]}` : undefined;
}

/** YYMMDD in BCD as yyyy/MM/dd; undefined if it is not a valid date. */
function isoDate(packed: string): string | undefined {
  const match = /^(\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/.exec(packed);
  return match ? `20${match[1]}/${match[2]}/${match[3]}` : undefined;
}

/** MM/YY from the sealed card; null after it was purged, or if its key was removed. */
export function expiryOf({ id, sealedCard }: Pick<Transaction, 'id' | 'sealedCard'>, vault: CardVault): string | null {
  if (sealedCard === null) return null;
  try {
    const expiry = vault.expiryOf(id, sealedCard);
    return expiry.length === 4 ? `${expiry.slice(2)}/${expiry.slice(0, 2)}` : null;
  } catch {
    return null; // a receipt does not need it
  }
}

/** A text tag (50, 9F12) as text; empty if absent. */
export function textOfTag({ chipTags }: Pick<Transaction, 'chipTags'>, tag: number): string {
  return latinText(indexChipTags(chipTags).value(tag));
}

function latinText(value: Uint8Array | undefined): string {
  if (value === undefined) return '';
  return Buffer.from(value)
    .toString('latin1')
    .replace(/[^\x20-\x7e\xa0-\xff]/g, '')
    .trim();
}
