import type { FastifyRequest } from 'fastify';
import type { QrCodeDetails } from '#schemas/consumer';
import type { LinkStatus, ShownMandate, TapOnOwnStatus, Tt3LinkStatus } from '#schemas/link';
import type { AppTokens } from '../auth/tokens/app-tokens.ts';
import { bearerToken } from '../auth/tokens/read-token.ts';
import { AuthError } from '../basics/errors.ts';
import type { OpenedLink } from '../payments/links/link-lifecycle.ts';
import { Disposition, dispositionName } from '../payments/model/disposition.ts';
import { isExpired, type Link, linkStateName, type Mandate } from '../payments/model/link.ts';
import { type Currency, currencyOf, formatAmount } from '../payments/model/money.ts';
import { statusName } from '../payments/model/status.ts';
import { TRANSACTION_TYPE_NAMES, type Transaction, TransactionType, toldMinor } from '../payments/model/transaction.ts';
import type { MerchantRecord } from '../payments/ports/directory-ports.ts';
import { linkExpired } from '../payments/taps/link-of-tap.ts';
import { errorTextOf } from './respond-to-phone.ts';
import { amountOf } from './transaction-view.ts';

/** Builds 2.3. `tap` is the last transaction on the link. */
export function linkStatusOf(link: Link, tap: Transaction | undefined): LinkStatus {
  const { paymentReference, createdAtMs, updatedAtMs, expiresAtMs } = link;
  const amountMinor = (tap && toldMinor(tap)) ?? link.amountMinor;
  const isDecided = tap !== undefined && tap.disposition !== null;
  return {
    qrCodeState: linkStateName(link.state),
    transactionId: tap?.id ?? null,
    merchantTransactionReference: tap?.merchantReference ?? paymentReference,
    userId: tap?.userId ?? '',
    status: tap ? statusName(tap.status) : null,
    disposition: dispositionOf(tap),
    amount: formatAmount(amountMinor, currencyOf(link.currency)),
    amountMinor,
    currency: link.currency,
    type: TRANSACTION_TYPE_NAMES[link.type],
    responseCode: tap?.responseCode?.replace(/^0(?=.)/, '') ?? null,
    authorisationCode: isDecided ? (tap.authorizationCode ?? '') : null,
    createdAt: isoTime(createdAtMs),
    updatedAt: isoTime(Math.max(updatedAtMs, tap?.updatedAtMs ?? 0)),
    paymentReference,
    expired: isExpired(link),
    expiresAt: isoTime(expiresAtMs),
  };
}

/** Builds 2.4. */
export function tt3LinkStatusOf(link: Link, mandate: Mandate, tap: Transaction | undefined): Tt3LinkStatus {
  const currency = currencyOf(link.currency);
  const status = linkStatusOf(link, tap);
  return {
    ...status,
    amount: Number(status.amount),
    ...mandateOf(mandate, currency),
  };
}

function mandateOf({ instalmentMinor, maxCollectionMinor, ...terms }: Mandate, currency: Currency): ShownMandate {
  return {
    ...terms,
    instalmentAmount: formatAmount(instalmentMinor, currency),
    maxCollectionAmount: formatAmount(maxCollectionMinor, currency),
  };
}

/** Builds 2.5. */
export function tapOnOwnStatusOf(tap: Transaction, merchantReference: string): TapOnOwnStatus {
  const errorCode = tap.errorCode ?? (tap.disposition === null ? null : 0);
  const message = errorTextOf(tap);
  const { id, merchantId } = tap;
  return { id, merchantId, merchantReference, disposition: dispositionOf(tap), errorCode, message, ...amountOf(tap) };
}

/** The status documents have five dispositions: a decline by the card is Declined (contract, "Values"). */
function dispositionOf(tap: Transaction | undefined): LinkStatus['disposition'] {
  if (!tap || tap.disposition === null) return null;
  const { disposition } = tap;
  return disposition === Disposition.DeclinedOffline
    ? 'Declined'
    : (dispositionName(disposition) as LinkStatus['disposition']);
}

/** The data that a payment app needs to read a card for a link. */
export function qrCodeDetailsOf(
  { link, merchantReference }: OpenedLink,
  merchant: MerchantRecord | undefined,
): QrCodeDetails {
  const currency = currencyOf(link.currency);
  return {
    merchantName: merchant?.name ?? '',
    amount: formatAmount(link.amountMinor, currency),
    amountMinor: link.amountMinor,
    currency: link.currency,
    merchantReference,
    type: link.type === TransactionType.TT3 ? 'TT3' : 'Tap',
    expiresAt: isoTime(link.expiresAtMs),
    isConsumerApp: link.isConsumerApp,
    ...(link.mandate && mandateOf(link.mandate, currency)),
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Makes an `onRequest` that accepts the token of a link or intent, and sets `intent` from it. */
export function identifyLink(appTokens: AppTokens): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const token = bearerToken(request.headers.authorization);
    request.intent = await appTokens.open(token).catch((error) => {
      // The token expires with its link, so an expired token means an expired link.
      throw error instanceof AuthError && error.code === 'JWT_EXPIRED' ? linkExpired() : error;
    });
  };
}
