import { randomUUID } from 'node:crypto';
import type { Credentials } from '#schemas/client';
import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import { LoadError } from '../../../basics/errors.ts';
import { SAMPLE_CARDS, type SampleCardName, sampleTap } from '../../../card/sample-tap.ts';
import type { HttpResponse } from '../connection-pool.ts';
import {
  type CallOutcome,
  type ClientCall,
  type Fleet,
  type LoadPhone,
  operationCall,
  type RequestWriter,
} from './fleet.ts';

/** The clients of a worker, and how their requests are written. */
export interface Clients {
  readonly fleet: Fleet;
  /** Creates links; undefined if the profile has no API key. */
  readonly backend: Credentials | undefined;
  readonly requests: RequestWriter;
  /** Keeps the last response about a transaction, for comparison with the ledger. */
  readonly keepResponse?: ((response: KeptResponse) => void) | undefined;
}

/** A response to a client. */
export interface KeptResponse {
  /** serviceReference. */
  readonly id: string;
  readonly outcome: OnlineAuthorization['type'];
}

/** One tap of a scenario. */
export interface LoadTap {
  readonly scenario: string;
  readonly phone: LoadPhone;
  readonly card: SampleCardName;
  readonly amountMinor: number;
  /** The expected outcome. */
  readonly expects: OnlineAuthorization['type'];
  /** Entered when the response requires it. */
  readonly pin?: string | undefined;
  /** Entered at the reader, and sent with the tap. */
  readonly enteredPin?: string | undefined;
  /** Default: a new one for each tap. */
  readonly merchantReference?: string | undefined;
}

/** The simulated switches' terminals are in South Africa. */
const RAND = '710';

export const CARD_NAMES = Object.keys(SAMPLE_CARDS) as SampleCardName[];

/** A phone submits a tap (4.4), and the PIN (4.5) if the issuer requires it and the scenario has one. */
export function tapCall(clients: Clients, tap: LoadTap): ClientCall {
  const { fleet, requests } = clients;
  const { scenario, phone, card, amountMinor, merchantReference = randomUUID() } = tap;
  const read = sampleTap({ card, amountMinor, currencyNumeric: RAND, at: new Date() });
  const values = tap.enteredPin === undefined ? read : phone.pinPad.addTo(read, tap.enteredPin);
  return operationCall(requests, 'submitTap', {
    scenario,
    credentials: phone.credentials,
    parts: { headers: headersOf(phone), body: seal(phone, values, merchantReference) },
    read: ({ onlineAuthorizationResponse: authorization }) => {
      const { pinToken, serviceReference } = authorization;
      fleet.remember(phone, serviceReference);
      if (tap.pin === undefined || pinToken === undefined) return outcomeOf(clients, authorization, tap);
      const sealed = seal(phone, phone.pinPad.addTo(values, tap.pin), merchantReference);
      return pinCall(clients, tap, serviceReference, { ...sealed, pinToken });
    },
  });
}

/** @param body with the sealed PIN */
function pinCall(
  clients: Clients,
  tap: LoadTap,
  transactionId: string,
  body: ReturnType<typeof seal> & { readonly pinToken: string },
): ClientCall {
  const { scenario, phone } = tap;
  return operationCall(clients.requests, 'submitPin', {
    scenario,
    credentials: phone.credentials,
    parts: { params: { transactionId }, headers: headersOf(phone), body },
    read: ({ onlineAuthorizationResponse: authorization }) => outcomeOf(clients, authorization, tap),
  });
}

function headersOf({ deviceInstallationId }: LoadPhone) {
  return { 'x-device-installation-id': deviceInstallationId };
}

function seal({ sealer, deviceInstallationId }: LoadPhone, values: ReadonlyMap<number, Uint8Array>, reference: string) {
  const binding = { deviceInstallationId, merchantReference: reference };
  const { merchantReference, generalCardData, paymentCardData } = sealer.seal(values, binding);
  return { merchantReference, generalCardData, paymentCardData };
}

function outcomeOf({ keepResponse }: Clients, authorization: OnlineAuthorization, { expects }: LoadTap): CallOutcome {
  const { type, serviceReference, pinToken } = authorization;
  // While a PIN is required, no outcome has been reported yet.
  if (pinToken === undefined) keepResponse?.({ id: serviceReference, outcome: type });
  return { outcome: type, isExpected: type === expects, isError: false };
}

/**
 * A backend creates a link (4.12), a phone taps it (4.4), and the backend looks up its status (4.6).
 *
 * @throws LoadError BAD_FILE if the profile has no API key
 */
export function linkCall(clients: Clients, tap: LoadTap): ClientCall {
  const { backend, requests } = clients;
  const { scenario } = tap;
  if (backend === undefined) throw new LoadError('BAD_FILE', `The profile has no apiKey, which ${scenario} needs.`);
  const { merchant } = tap.phone;
  const paymentReference = randomUUID();
  const body = {
    merchantId: merchant.id,
    xTid: merchant.xTid,
    paymentReference,
    amount: (tap.amountMinor / 100).toFixed(2),
    currencyCode: 'ZAR',
    timestamp: new Date().toISOString(),
    isConsumerApp: true,
    image: { required: false },
  };
  return operationCall(requests, 'createApplink', {
    scenario,
    credentials: backend,
    parts: { body },
    read: ({ reference }) => {
      const tapped = tapCall(clients, { ...tap, merchantReference: paymentReference });
      const asked = { scenario, credentials: backend, parts: { params: { reference } } };
      // The reported outcome is that of the tap.
      return followed(tapped, (outcome) =>
        outcome.isExpected ? operationCall(requests, 'getLinkStatus', { ...asked, read: () => outcome }) : outcome,
      );
    },
  });
}

/** A call whose outcome can be followed by another one. */
function followed(call: ClientCall, next: (outcome: CallOutcome) => CallOutcome | ClientCall): ClientCall {
  const read = (response: HttpResponse) => {
    const step = call.read(response);
    return 'request' in step ? followed(step, next) : next(step);
  };
  return { ...call, read };
}

/** The page size of a merchant's app. */
const PAGE = 20;
const FOUND: CallOutcome = { outcome: 'Found', isExpected: true, isError: false };

/** A client looks up its latest transaction (4.2), or the merchant's list if it has none yet. */
export function detailCall(clients: Clients, scenario: string): ClientCall {
  const phone = clients.fleet.nextUsed();
  const { credentials, lastTransactionId: id } = phone;
  if (id === undefined) return listCall(clients, scenario, phone);
  const parts = { params: { id } };
  return operationCall(clients.requests, 'getTransaction', { scenario, credentials, parts, read: () => FOUND });
}

/** A client requests its merchant's latest transactions (4.1). */
export function listCall(clients: Clients, scenario: string, phone: LoadPhone = clients.fleet.next()): ClientCall {
  const { credentials } = phone;
  const parts = { query: { limit: PAGE } };
  return operationCall(clients.requests, 'listTransactions', { scenario, credentials, parts, read: () => FOUND });
}

const REFUNDS = 2;
/** Small enough that two of them exceed no sale. */
const REFUND_AMOUNT = '5.00';

/**
 * A phone taps. If the tap is approved, the backend immediately has the sale voided, or refunded in two parts.
 *
 * @throws LoadError BAD_FILE if the profile has no API key
 */
export function afterwardsCall(clients: Clients, tap: LoadTap, what: 'void' | 'refund'): ClientCall {
  const { backend } = clients;
  if (backend === undefined) throw new LoadError('BAD_FILE', `The profile has no apiKey, which ${tap.scenario} needs.`);
  let sale: string | undefined;
  const keepResponse: Clients['keepResponse'] = (response) => {
    if (response.outcome === 'Approved') sale = response.id;
    clients.keepResponse?.(response);
  };
  const then = (outcome: CallOutcome) => {
    if (sale === undefined) return outcome;
    return what === 'void' ? voidCall(clients, backend, tap, sale) : refundCall(clients, backend, tap, sale, REFUNDS);
  };
  return followed(tapCall({ ...clients, keepResponse }, tap), then);
}

function voidCall({ requests }: Clients, credentials: Credentials, { scenario }: LoadTap, id: string): ClientCall {
  const read = (): CallOutcome => ({ outcome: 'Void accepted', isExpected: true, isError: false });
  return operationCall(requests, 'voidSale', { scenario, credentials, parts: { params: { id } }, read });
}

function refundCall(clients: Clients, credentials: Credentials, tap: LoadTap, id: string, left: number): ClientCall {
  const body = { amount: REFUND_AMOUNT, refundReference: randomUUID() };
  return operationCall(clients.requests, 'refundSale', {
    scenario: tap.scenario,
    credentials,
    parts: { params: { id }, body },
    read: ({ serviceReference, type }) => {
      clients.keepResponse?.({ id: serviceReference, outcome: type });
      if (left > 1) return refundCall(clients, credentials, tap, id, left - 1);
      return { outcome: `Refund ${type}`, isExpected: type === 'Approved', isError: false };
    },
  });
}
