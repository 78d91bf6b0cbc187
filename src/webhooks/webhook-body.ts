import type { WebhookOutcome } from '#schemas/jobs';
import type { Webhook } from '#schemas/webhook';
import { ERROR_CODES } from '../payments/decisions/decide-outcome.ts';
import { currencyOf, formatAmount } from '../payments/model/money.ts';
import { type ProviderValues, type Transaction, TransactionType } from '../payments/model/transaction.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';

/** Fields of an outcome besides its disposition. */
type Facts = Pick<Webhook, 'disposition' | 'errorCode' | 'authorisationCode'> & Partial<Webhook>;

/**
 * The body of a webhook (2.6, flat), as it is signed and sent.
 *
 * @param transaction state when the event is written; it may have a later outcome by then
 * @param outcome as committed
 * @param providerId the merchant's id at the processor, if known
 * @param paymentReference reference of the link of the tap: its creator knows the payment by it, under any reference
 * that the app submitted
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
    ...identityOf(transaction, paymentReference),
    merchantId: transaction.merchantId,
    disposition,
    ...(errorCode !== undefined && { errorCode }),
    authorisationCode,
    amount: Number(formatAmount(amountMinor, currencyOf(currency))),
    amountMinor,
    currency,
    serviceReference: transaction.id,
    deviceInstallationId: transaction.deviceInstallationId,
    ...ofProvider,
  };
  return JSON.stringify(body);
}

/**
 * An event of a payment has the id of its link, which its creator follows. A refund or void is no outcome of the payment:
 * its events have ids of their own, and name the sale.
 */
function identityOf(
  { id, type, consumerId, originalId, merchantReference }: Transaction,
  paymentReference: string | undefined,
): Pick<Webhook, 'id' | 'originalTransactionId' | 'merchantReference'> {
  if (type === TransactionType.Refund || type === TransactionType.Void) {
    return { id, ...(originalId !== null && { originalTransactionId: originalId }), merchantReference };
  }
  return { id: consumerId ?? id, merchantReference: paymentReference ?? merchantReference };
}

/**
 * The row contains the last outcome. If no switch received the attempt, another one may have followed, so the earlier
 * outcome is written here; in other cases the row still has its fields.
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

/** The merchant's id at the processor of its transaction, for integrators; undefined if no processor was chosen. */
export function providerIdOf(
  { directory, path }: TransactionDependencies,
  transaction: Transaction,
): ProviderValues | undefined {
  const { acquirerId, routeId, xTid, tid, mid } = transaction;
  const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
  if (path.kind !== 'direct' || !route || xTid === null || tid === null || mid === null) return undefined;
  const canTakePin = directory.terminal(transaction, xTid)?.canTakePin ?? false;
  return path.switches.find(acquirerId, route.processorId)?.providerId({ tid, mid, canTakePin });
}
