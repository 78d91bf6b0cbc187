import { randomUUID } from 'node:crypto';
import type { Credentials } from '#schemas/client';
import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import { SAMPLE_CARDS, type SampleCardName, sampleTap } from '../../../card/sample-tap.ts';
import { toHex } from '../../../codecs/bytes/hex.ts';
import { valuesOfPin } from '../../phone/pin-pad.ts';
import { type CallOutcome, type ClientCall, operationCall, type RequestWriter } from './client-call.ts';
import type { Fleet, LoadPhone } from './fleet.ts';

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
const TRACK_2 = 0x57;

export const CARD_NAMES = Object.keys(SAMPLE_CARDS) as SampleCardName[];

/** A phone submits a tap (4.4), and the PIN (4.5) if the issuer requires it and the scenario has one. */
export function tapCall(clients: Clients, tap: LoadTap): ClientCall {
  const { fleet, requests } = clients;
  const { scenario, phone, card, amountMinor, merchantReference = randomUUID() } = tap;
  const read = sampleTap({ card, amountMinor, currencyNumeric: RAND, at: new Date() });
  const values = tap.enteredPin === undefined ? read : withPin(phone, read, tap.enteredPin);
  return operationCall(requests, 'submitTap', {
    scenario,
    credentials: phone.credentials,
    parts: { headers: headersOf(phone), body: seal(phone, values, merchantReference) },
    read: ({ onlineAuthorizationResponse: authorization }) => {
      const { pinToken, serviceReference } = authorization;
      fleet.remember(phone, serviceReference);
      if (tap.pin === undefined || pinToken === undefined) return outcomeOf(clients, authorization, tap);
      return pinCall(clients, tap, { pin: tap.pin, values, merchantReference, pinToken, serviceReference });
    },
  });
}

interface AskedForPin {
  readonly pin: string;
  readonly values: ReadonlyMap<number, Uint8Array>;
  readonly merchantReference: string;
  readonly pinToken: string;
  readonly serviceReference: string;
}

function pinCall(clients: Clients, tap: LoadTap, asked: AskedForPin): ClientCall {
  const { scenario, phone } = tap;
  const { pin, values, merchantReference, pinToken, serviceReference: transactionId } = asked;
  const body = { ...seal(phone, withPin(phone, values, pin), merchantReference), pinToken };
  return operationCall(clients.requests, 'submitPin', {
    scenario,
    credentials: phone.credentials,
    parts: { params: { transactionId }, headers: headersOf(phone), body },
    read: ({ onlineAuthorizationResponse: authorization }) => outcomeOf(clients, authorization, tap),
  });
}

function withPin({ pinPad }: LoadPhone, values: ReadonlyMap<number, Uint8Array>, pin: string) {
  const [pan = ''] = toHex(values.get(TRACK_2) ?? new Uint8Array()).split('D', 1);
  return new Map([...values, ...valuesOfPin(pinPad.enter(pin, pan))]);
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
