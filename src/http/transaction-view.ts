import type { ReceiptData, TransactionView } from '#schemas/transaction';
import { localDateTime } from '../processor-kit/local-time.ts';
import { Disposition } from '../transactions/disposition.ts';
import { currencyOf, formatAmount } from '../transactions/money.ts';
import type { CardVault, MerchantRecord } from '../transactions/ports.ts';
import { indexChipTags, listChipTags } from '../transactions/tap/chip-tags.ts';
import { TRANSACTION_TYPE_NAMES, type Transaction, toldMinor } from '../transactions/transaction.ts';

/** A transaction as 2.1 shows it to whom it belongs. `merchant` is its record as it is now. */
export function transactionView(
  transaction: Transaction,
  merchant: MerchantRecord | undefined,
  vault: CardVault,
): TransactionView {
  const { responseCode, createdAtMs, updatedAtMs } = transaction;
  const attempt = {
    tags: listChipTags(transaction.chipTags),
    maskedPAN: transaction.maskedPan ?? '',
    paymentProviderId: transaction.routeId,
  };
  return {
    id: transaction.id,
    passthroughUserId: transaction.userId === null ? transaction.userClaim : null,
    merchantTransactionReference: transaction.merchantReference,
    details: [...(transaction.earlierAttempts ?? []), attempt].map((detail) => ({ ...detail, tags: [...detail.tags] })),
    latitude: transaction.latitude ?? '',
    longitude: transaction.longitude ?? '',
    deviceinstallationId: transaction.deviceInstallationId,
    transactionstatusId: transaction.status,
    transactionDispositionId: transaction.disposition,
    amount: amountText(transaction) ?? '',
    currency: transaction.currency ?? '',
    responseCode: responseCode !== null && /^\d+$/.test(responseCode) ? Number(responseCode) : null,
    transactionTypeId: transaction.type,
    originalTransactionId: transaction.originalId,
    acquirerId: transaction.acquirerId,
    userId: transaction.userId ?? '',
    transactionFeesConfigId: merchant?.feesConfigId ?? null,
    transactionFee: merchant?.fee ?? null,
    authorisationCode: transaction.disposition === null ? null : (transaction.authorizationCode ?? ''),
    createdAt: new Date(createdAtMs).toISOString(),
    updatedAt: new Date(updatedAtMs).toISOString(),
    receiptData: transaction.disposition === null ? {} : receiptOf(transaction, merchant, vault),
  };
}

function receiptOf(transaction: Transaction, merchant: MerchantRecord | undefined, vault: CardVault): ReceiptData {
  const chip = indexChipTags(transaction.chipTags);
  const tag = (number: number) => chip.hex(number) ?? '';
  const { date, time } = localDateAndTime(transaction, merchant, tag);
  const label = textOfTag(transaction, 0x50);
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
    amount: `${transaction.currency ?? ''} ${amountText(transaction) ?? ''}`.trim(),
    currency: transaction.currency ?? '',
    applicationLabel: label,
    applicationPreferredName: textOfTag(transaction, 0x9f12) || null,
    association: label || (transaction.scheme ?? ''),
    isoResponseCode: (transaction.responseCode ?? '').replace(/^0(?=.)/, ''),
    cryptogram: tag(0x9f26),
    cryptogramType: CRYPTOGRAM_TYPES[Number.parseInt(tag(0x9f27).slice(0, 1), 16) >> 2] ?? '',
    tvr: tag(0x95),
    date,
    time,
    maskedPan: transaction.maskedPan ?? '',
  };
}

/** By the two top bits of 9F27. */
const CRYPTOGRAM_TYPES: readonly (string | undefined)[] = ['AAC', 'TC', 'ARQC'];

function approvalText({ disposition }: Transaction): string {
  if (disposition === Disposition.Approved) return 'Approved';
  return disposition === Disposition.Voided ? 'Reversed' : 'Declined';
}

/** As decimal text. */
function amountText(transaction: Transaction): string | undefined {
  const { currency } = transaction;
  const minor = toldMinor(transaction);
  return minor === null || currency === null ? undefined : formatAmount(minor, currencyOf(currency));
}

/** The reader's own date and time (9A, 9F21), else our clock in the merchant's zone. */
function localDateAndTime(
  { createdAtMs }: Transaction,
  merchant: MerchantRecord | undefined,
  tag: (number: number) => string,
): { date: string; time: string } {
  const local = localDateTime(createdAtMs, merchant?.timeZone ?? 'UTC');
  const [, year, month, day, hour, minute] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)/.exec(local)!;
  const clock = /^([01]\d|2[0-3])([0-5]\d)[0-5]\d$/.exec(tag(0x9f21));
  return {
    date: isoDate(tag(0x9a)) ?? `${year}/${month}/${day}`,
    time: clock ? `${clock[1]}:${clock[2]}` : `${hour}:${minute}`,
  };
}

/** YYMMDD in BCD as yyyy/MM/dd; undefined when it is no date. */
function isoDate(packed: string): string | undefined {
  const match = /^(\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/.exec(packed);
  return match ? `20${match[1]}/${match[2]}/${match[3]}` : undefined;
}

/** MM/YY from the sealed card; null once it was purged, or when its key is gone. */
export function expiryOf({ id, sealedCard }: Transaction, vault: CardVault): string | null {
  if (sealedCard === null) return null;
  try {
    const expiry = vault.expiryOf(id, sealedCard);
    return expiry.length === 4 ? `${expiry.slice(2)}/${expiry.slice(0, 2)}` : null;
  } catch {
    return null; // a receipt does without it
  }
}

/** A tag of text (50, 9F12) as text; empty when absent. */
export function textOfTag({ chipTags }: Transaction, tag: number): string {
  const value = indexChipTags(chipTags).value(tag);
  if (value === undefined) return '';
  return Buffer.from(value)
    .toString('latin1')
    .replace(/[^\x20-\x7e\xa0-\xff]/g, '')
    .trim();
}
