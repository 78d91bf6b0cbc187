import type { FastifyReply } from 'fastify';
import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import { responseCodeText } from '#schemas/response-codes';
import { ERROR_CODES } from '../payments/decisions/decide-outcome.ts';
import { type DispositionId, dispositionName } from '../payments/model/disposition.ts';
import { isAwaitingPin } from '../payments/model/pin.ts';
import { type Transaction, toldMinor } from '../payments/model/transaction.ts';
import type { CardVault } from '../payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { Outcomes } from '../payments/reversals/outcomes.ts';
import { expiryOf, textOfTag } from './transaction-view.ts';

const APPLICATION_LABEL = 0x50;

/** Texts for cases in which the switch gave none. */
const OWN_TEXTS: Readonly<Record<number, string>> = {
  [ERROR_CODES.declinedOffline]: 'Declined by the card',
  [ERROR_CODES.unableToGoOnline]: 'The payment processor is unavailable; nothing was sent',
  [ERROR_CODES.pinRequired]: 'The card issuer requires a PIN',
  [ERROR_CODES.invalidPin]: 'The PIN is wrong',
  [ERROR_CODES.indeterminate]: 'The payment processor gave no usable response; the transaction is being reversed',
};

/** What went wrong; undefined if nothing did. */
export function errorTextOf({
  errorCode,
  responseCode,
}: Pick<Transaction, 'errorCode' | 'responseCode'>): string | undefined {
  return errorCode === null ? undefined : (OWN_TEXTS[errorCode] ?? responseCodeText(responseCode ?? ''));
}

/** What the responses of taps and refunds tell about the switch's response, built only from the committed row. */
export function switchResponseOf(transaction: Transaction) {
  const { responseCode, errorCode } = transaction;
  return {
    authorizationCode: transaction.authorizationCode ?? '',
    currency: transaction.currency ?? '',
    merchantReference: transaction.merchantReference,
    cardScheme: transaction.scheme ?? '',
    cardType: transaction.cardType ?? '',
    maskedPAN: transaction.maskedPan ?? '',
    // The code of an unusable switch response is not an outcome. It remains in the audit trail only.
    isoResponseCode: errorCode === ERROR_CODES.indeterminate ? '' : (responseCode ?? ''),
    paymentProviderReference: transaction.providerReference ?? undefined,
    errorCode: errorCode ?? undefined,
    errorMessage: errorTextOf(transaction),
  };
}

/**
 * The phone's response (2.12), built only from the committed row.
 *
 * @param pinToken of a transaction that awaits a PIN; until then its type for the phone is Declined
 */
function onlineAuthorizationOf(transaction: Transaction, vault: CardVault, pinToken?: string): OnlineAuthorization {
  const label = textOfTag(transaction, APPLICATION_LABEL);
  const amountMinor = toldMinor(transaction) ?? 0;
  return {
    ...switchResponseOf(transaction),
    serviceReference: transaction.id,
    type: typeOf(transaction),
    tags: [...(transaction.cardTags ?? [])],
    isSingleTapAndPin: isAwaitingPin(transaction),
    pinToken,
    cardReaderId: transaction.readerId ?? '',
    cardReaderTransactionId: transaction.readerTransactionId ?? '',
    amount: amountMinor,
    amountMinor,
    association: label || (transaction.scheme ?? undefined),
    expiryDate: expiryOf(transaction, vault) ?? undefined,
  };
}

/**
 * The type that was sent to the phone does not change. A transaction with an uncertain outcome stays Indeterminate,
 * even if the reversal was acknowledged before the response was sent, or the phone asks again.
 */
function typeOf(transaction: Transaction): OnlineAuthorization['type'] {
  if (isAwaitingPin(transaction)) return 'Declined';
  if (transaction.errorCode === ERROR_CODES.indeterminate) return 'Indeterminate';
  return dispositionName(transaction.disposition as DispositionId);
}

/** Sends the response of 4.4 and 4.5 from the committed row, and records when it has reached the phone. */
export async function respondToPhone(
  { pinTokens, vault }: TransactionDependencies,
  outcomes: Outcomes,
  transaction: Transaction,
  reply: FastifyReply,
): Promise<{ onlineAuthorizationResponse: OnlineAuthorization }> {
  const pinToken = isAwaitingPin(transaction) ? await pinTokens.issue(transaction) : undefined;
  recordWhenFlushed(outcomes, transaction, reply);
  return { onlineAuthorizationResponse: onlineAuthorizationOf(transaction, vault, pinToken) };
}

/**
 * Records 7 -> 8 when the last byte was sent to the phone, and 7 -> 9 if the phone had disconnected. No request waits
 * for this record.
 */
export function recordWhenFlushed(outcomes: Outcomes, transaction: Transaction, reply: FastifyReply): void {
  const { raw } = reply;
  // A problem was sent before: the request was overdue, so the phone did not get this outcome.
  const isOverdue = reply.sent;
  const record = () => outcomes.recordResponse(transaction, raw.writableFinished && !isOverdue);
  if (raw.closed)
    record(); // the phone disconnected while the switch was asked
  else raw.once('close', record);
}
