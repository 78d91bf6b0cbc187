import type { WebhookOutcome } from '#schemas/jobs';
import type { Webhook } from '#schemas/webhook';
import { ERROR_CODES } from '../transactions/decisions/settle-outcome.ts';
import { currencyOf, formatAmount } from '../transactions/model/money.ts';
import type { ProviderValues, Transaction } from '../transactions/model/transaction.ts';

/** What an outcome says besides its disposition. */
type Facts = Pick<Webhook, 'disposition' | 'errorCode' | 'authorisationCode'> & Partial<Webhook>;

/**
 * The body of a webhook (2.6, flat), as it is signed and sent.
 *
 * @param transaction as it is when the event is written; its outcome may be a later one by then
 * @param outcome as it was committed
 * @param providerId who the merchant is at the processor, when one is known
 * @param paymentReference of the link that a tap was for: its creator knows it by that, whatever the app submitted it under
 */
export function webhookBody(
  transaction: Transaction,
  outcome: WebhookOutcome,
  providerId: ProviderValues | undefined,
  paymentReference?: string,
): string {
  const { type, at: timestamp, sequence, amountMinor, currency } = outcome;
  const { disposition, errorCode, authorisationCode, ...ofProvider } = factsOf(transaction, outcome, providerId);
  const body: Webhook = {
    type,
    timestamp,
    sequence,
    id: transaction.consumerId ?? transaction.id,
    merchantReference: paymentReference ?? transaction.merchantReference,
    disposition,
    ...(errorCode !== undefined && { errorCode }),
    authorisationCode,
    amount: Number(formatAmount(amountMinor, currencyOf(currency))),
    currency,
    serviceReference: transaction.id,
    deviceInstallationId: transaction.deviceInstallationId,
    ...ofProvider,
  };
  return JSON.stringify(body);
}

/**
 * The row tells of its last outcome. One that no switch heard of may have been followed by another attempt, so what it was
 * is said here; any other has kept what belongs to it.
 */
function factsOf(
  transaction: Transaction,
  { disposition }: WebhookOutcome,
  providerId: ProviderValues | undefined,
): Facts {
  switch (disposition) {
    case 'UnableToGoOnline':
      return { disposition, errorCode: ERROR_CODES.unableToGoOnline, authorisationCode: '' };
    case 'DeclinedOffline':
      return { disposition: 'Declined', errorCode: ERROR_CODES.declinedOffline, authorisationCode: '' };
    case 'Indeterminate':
      return {
        disposition,
        errorCode: ERROR_CODES.indeterminate,
        authorisationCode: '',
        ...providerFacts(transaction, providerId),
      };
    default:
      return {
        disposition,
        errorCode: transaction.errorCode ?? undefined,
        authorisationCode: transaction.authorizationCode ?? '',
        ...providerFacts(transaction, providerId),
      };
  }
}

function providerFacts(
  { providerReference, providerFields }: Transaction,
  providerId: ProviderValues | undefined,
): Partial<Webhook> {
  return {
    ...(providerReference !== null && { paymentProviderReference: providerReference }),
    ...(providerId && { paymentProviderId: { ...providerId } }),
    ...(providerFields && { paymentProviderFields: { ...providerFields } }),
  };
}
