import { randomUUID } from 'node:crypto';
import { READER_TAGS } from '#schemas/card-data';
import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import { toHex } from '../../bytes/hex.ts';
import { SAMPLE_CARDS, type SampleCardName, sampleTap } from '../../card/sample-tap.ts';
import type { HttpAnswer } from '../answer-reader.ts';
import { type CallOutcome, type ClientCall, jsonOf, refusal } from './client-call.ts';
import type { Fleet, LoadPhone } from './fleet.ts';
import type { Caller, RequestWriter } from './request-writer.ts';

/** Those who ask, and how they write it. */
export interface Clients {
  readonly fleet: Fleet;
  /** Who makes links; undefined when the profile has no API key. */
  readonly backend: Caller | undefined;
  readonly requests: RequestWriter;
}

/** One tap of a scenario. */
export interface LoadTap {
  readonly scenario: string;
  readonly phone: LoadPhone;
  readonly card: SampleCardName;
  readonly amountMinor: number;
  /** What must come of it. */
  readonly expects: OnlineAuthorization['type'];
  /** Entered when it is asked for. */
  readonly pin?: string | undefined;
  /** One of its own when absent. */
  readonly merchantReference?: string | undefined;
}

/** The simulated switches' terminals are in South Africa. */
const RAND = '710';
const TRACK_2 = 0x57;
const CVM_RESULTS = 0x9f34;
/** 9F34: enciphered PIN verified online, result unknown (EMV Book 3 Annex C3). */
const ONLINE_PIN = Uint8Array.of(0x42, 0x03, 0x00);

export const CARD_NAMES = Object.keys(SAMPLE_CARDS) as SampleCardName[];

/** A phone submits a tap (4.4), and the PIN (4.5) when the issuer asks for it and there is one. */
export function tapCall(clients: Clients, tap: LoadTap): ClientCall {
  const { scenario, phone, card, amountMinor, merchantReference = randomUUID() } = tap;
  const values = sampleTap({ card, amountMinor, currencyNumeric: RAND, at: new Date() });
  const request = clients.requests.post('/transactions/mobile', phone, seal(phone, values, merchantReference));
  const read = (answer: HttpAnswer) => {
    const authorization = authorizationOf(answer);
    if (authorization === undefined) return refusal(answer);
    clients.fleet.remember(phone, authorization.serviceReference);
    const { pinToken, serviceReference } = authorization;
    if (tap.pin === undefined || pinToken === undefined) return outcomeOf(authorization, tap);
    return pinCall(clients, tap, { values, merchantReference, pinToken, serviceReference });
  };
  return { scenario, request, read };
}

interface AskedForPin {
  readonly values: ReadonlyMap<number, Uint8Array>;
  readonly merchantReference: string;
  readonly pinToken: string;
  readonly serviceReference: string;
}

function pinCall({ requests }: Clients, tap: LoadTap, asked: AskedForPin): ClientCall {
  const { phone, pin = '' } = tap;
  const { values, merchantReference, pinToken, serviceReference } = asked;
  const [pan = ''] = toHex(values.get(TRACK_2) ?? new Uint8Array()).split('D', 1);
  const { block, ksn } = phone.pinPad.enter(pin, pan);
  const withPin = new Map(values).set(CVM_RESULTS, ONLINE_PIN);
  withPin.set(READER_TAGS.pinBlock, block).set(READER_TAGS.ksn, ksn);
  const body = { ...seal(phone, withPin, merchantReference), pinToken };
  const read = (answer: HttpAnswer) => {
    const authorization = authorizationOf(answer);
    return authorization === undefined ? refusal(answer) : outcomeOf(authorization, tap);
  };
  const path = `/transactions/${serviceReference}/submitPinMobile`;
  return { scenario: tap.scenario, request: requests.post(path, phone, body), read };
}

function seal({ sealer, deviceInstallationId }: LoadPhone, values: ReadonlyMap<number, Uint8Array>, reference: string) {
  const binding = { deviceInstallationId, merchantReference: reference };
  const { merchantReference, generalCardData, paymentCardData } = sealer.seal(values, binding);
  return { merchantReference, generalCardData, paymentCardData };
}

function outcomeOf({ type }: OnlineAuthorization, { expects }: LoadTap): CallOutcome {
  return { outcome: type, isExpected: type === expects, isError: false };
}

/** Undefined for everything that is no answer of 4.4 or 4.5. */
function authorizationOf(answer: HttpAnswer): OnlineAuthorization | undefined {
  if (answer.status !== 200) return undefined;
  const body = jsonOf(answer) as { onlineAuthorizationResponse?: OnlineAuthorization } | undefined;
  return body?.onlineAuthorizationResponse;
}
