import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import { responseCodeText } from '#schemas/response-codes';
import { ERROR_CODES } from '../transactions/decisions/settle-outcome.ts';
import { type DispositionId, dispositionName } from '../transactions/model/disposition.ts';
import { isAwaitingPin } from '../transactions/model/pin.ts';
import { type Transaction, toldMinor } from '../transactions/model/transaction.ts';
import type { CardVault } from '../transactions/ports/card-ports.ts';
import { expiryOf, textOfTag } from './transaction-view.ts';

const APPLICATION_LABEL = 0x50;

/** Where the switch said nothing, we do. */
export const OWN_TEXTS: Readonly<Record<number, string>> = {
  [ERROR_CODES.declinedOffline]: 'Declined by the card',
  [ERROR_CODES.unableToGoOnline]: 'The payment processor is unavailable; nothing was sent',
  [ERROR_CODES.pinRequired]: 'The card issuer requires a PIN',
  [ERROR_CODES.invalidPin]: 'The PIN is wrong',
  [ERROR_CODES.indeterminate]: 'The payment processor gave no usable response; the transaction is being reversed',
};

/**
 * The phone's answer (2.12), from the committed row and nothing else.
 *
 * @param pinToken of a transaction that awaits a PIN: for the phone it is Declined meanwhile
 */
export function onlineAuthorizationOf(
  transaction: Transaction,
  vault: CardVault,
  pinToken?: string,
): OnlineAuthorization {
  const { responseCode, errorCode } = transaction;
  const label = textOfTag(transaction, APPLICATION_LABEL);
  return {
    serviceReference: transaction.id,
    type: typeOf(transaction),
    authorizationCode: transaction.authorizationCode ?? '',
    tags: [...(transaction.cardTags ?? [])],
    isSingleTapAndPin: isAwaitingPin(transaction),
    pinToken,
    cardReaderId: transaction.readerId ?? '',
    cardReaderTransactionId: transaction.readerTransactionId ?? '',
    amount: toldMinor(transaction) ?? 0,
    currency: transaction.currency ?? '',
    merchantReference: transaction.merchantReference,
    cardScheme: transaction.scheme ?? '',
    cardType: transaction.cardType ?? '',
    maskedPAN: transaction.maskedPan ?? '',
    // What the switch said about an answer that cannot be used is no outcome: it stays in the trail.
    isoResponseCode: errorCode === ERROR_CODES.indeterminate ? '' : (responseCode ?? ''),
    association: label || (transaction.scheme ?? undefined),
    expiryDate: expiryOf(transaction, vault) ?? undefined,
    paymentProviderReference: transaction.providerReference ?? undefined,
    errorCode: errorCode ?? undefined,
    errorMessage: errorCode === null ? undefined : (OWN_TEXTS[errorCode] ?? responseCodeText(responseCode ?? '')),
  };
}

/**
 * What the phone is told stays what it is told: of a tap whose outcome was uncertain, Indeterminate, also when the
 * reversal was acknowledged before the answer left, or the phone asks again.
 */
function typeOf(transaction: Transaction): OnlineAuthorization['type'] {
  if (isAwaitingPin(transaction)) return 'Declined';
  if (transaction.errorCode === ERROR_CODES.indeterminate) return 'Indeterminate';
  return dispositionName(transaction.disposition as DispositionId);
}
