import type { PayPageState } from '#schemas/pay-page';
import { Disposition } from '../../payments/model/disposition.ts';
import type { Link, Mandate } from '../../payments/model/link.ts';
import { type Currency, currencyOf, formatAmount } from '../../payments/model/money.ts';
import { type Transaction, TransactionType } from '../../payments/model/transaction.ts';
import type { MerchantRecord } from '../../payments/ports/directory-ports.ts';
import { linkStatusOf } from '../links-view.ts';

/** The state of a link that a customer may see. `tap` is the last transaction on the link. */
export function payPageStateOf(
  link: Link,
  tap: Transaction | undefined,
  merchant: MerchantRecord | undefined,
  nowMs: number,
): PayPageState {
  const { qrCodeState, disposition, amount, currency, expired } = linkStatusOf(link, tap);
  const leftMs = link.isPast ? 0 : Math.max(0, link.expiresAtMs - nowMs);
  return {
    merchantName: merchant?.name ?? '',
    paymentReference: link.paymentReference,
    type: link.type === TransactionType.TT3 ? 'TT3' : 'Tap',
    amount,
    currency,
    isConsumerApp: link.isConsumerApp,
    qrCodeState,
    disposition,
    expired,
    cancelled: tap?.disposition === Disposition.Voided && link.isHeld,
    secondsLeft: Math.ceil(leftMs / 1_000),
    awaitsPin: disposition === null && tap !== undefined && (tap.pinExpiresAtMs ?? 0) > nowMs,
    waitedSeconds: waitedSeconds(tap, nowMs),
    ...(link.mandate && { mandate: termsOf(link.mandate, currencyOf(currency)) }),
  };
}

/** Since the bank was asked, so that a page that is opened later shows the same time. */
function waitedSeconds(tap: Transaction | undefined, nowMs: number): number {
  if (tap === undefined || tap.disposition !== null) return 0;
  return Math.max(0, Math.floor((nowMs - (tap.sentAtMs ?? tap.updatedAtMs)) / 1_000));
}

/** The amounts that the creditor wants shown, without data that names the customer. */
function termsOf(mandate: Mandate, currency: Currency): NonNullable<PayPageState['mandate']> {
  const { creditorABSN, collectionDay, contractReference, instalmentVisibility } = mandate;
  const instalment = { instalmentAmount: formatAmount(mandate.instalmentMinor, currency) };
  const maximum = { maxCollectionAmount: formatAmount(mandate.maxCollectionMinor, currency) };
  return {
    creditorABSN,
    collectionDay,
    contractReference,
    ...(instalmentVisibility !== 'maximumOnly' && instalment),
    ...(instalmentVisibility !== 'instalmentOnly' && maximum),
  };
}
