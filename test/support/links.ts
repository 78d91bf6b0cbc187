import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Webhook } from '../../schemas/webhook.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { Phone, type PhoneResponse, type PhoneTap } from '../../src/tools/phone/phone.ts';
import type { Receiver } from '../webhooks/receiver.ts';
import { eventually } from './eventually.ts';
import type { Installation } from './installation.ts';
import { type RawResponse, request } from './requests.ts';
import { MERCHANTS, type MerchantName } from './tenants.ts';

/** A valid request to create a link. */
export function linkBody(merchant: MerchantName = 'coffee', changes: Readonly<Record<string, unknown>> = {}) {
  return {
    merchantId: MERCHANTS[merchant].id,
    paymentReference: randomUUID(),
    amount: '10.00',
    timestamp: new Date().toISOString(),
    currencyCode: 'ZAR',
    isConsumerApp: true,
    image: { required: false },
    ...changes,
  };
}

/** The fields of a debit order. */
export const MANDATE = {
  collectionDay: 25,
  creditorABSN: 'ACME INSURE',
  accountNumber: '62001234567',
  idNumber: '8001015009087',
  instalmentAmount: '250.00',
  instalmentVisibility: 'both',
  maxCollectionAmount: 375.5,
  contractReference: 'contract-12',
};

/** Posts as an integrator's backend: with its API key, unless other headers are given. */
export async function post(
  installation: Installation,
  path: string,
  body: unknown,
  headers?: Readonly<Record<string, string | undefined>>,
): Promise<RawResponse> {
  const credential = headers ?? { 'x-api-key': await installation.apiKey() };
  return request(installation.url, path, {
    method: 'POST',
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...credential },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** A link or intent, as its payment app received it. */
export interface HandedLink {
  readonly id: string;
  readonly token: string;
  readonly paymentReference: string;
}

/** Creates a link, or what another route creates. @throws if it is refused */
export async function createLink(
  installation: Installation,
  changes: Readonly<Record<string, unknown>> = {},
  path = '/consumer/applink',
): Promise<HandedLink> {
  const sent = linkBody('coffee', changes);
  const { status, body } = await post(installation, path, sent);
  if (status !== 200) throw new Error(`got ${status}: ${JSON.stringify(body)}`);
  const { paymentReference } = sent as { paymentReference: string };
  const made = body as { url?: string; reference?: string; id?: string; token?: string };
  const token = made.token ?? new URL(made.url!).hash.slice(1);
  return { id: made.reference ?? made.id!, token, paymentReference };
}

/** A phone whose payment app received a link and has no other credentials, so it binds its taps to no merchant. */
export class AppPhone extends Phone {
  readonly #link: HandedLink;

  constructor(installation: Installation, link: HandedLink, device?: string) {
    super({ ...installation.profile(), acquirerId: undefined }, device);
    this.#link = link;
  }

  override async token(): Promise<string> {
    return this.#link.token;
  }

  /** Taps with the values of the link, unless others are given. */
  pay(tap: Partial<PhoneTap> = {}): Promise<PhoneResponse> {
    const { paymentReference: merchantReference } = this.#link;
    return this.tap({ amount: '10.00', currency: 'ZAR', merchantReference, ...tap });
  }
}

/** Sends a request as the payment app that holds the token. */
export function ask(installation: Installation, { token }: Pick<HandedLink, 'token'>, path: string, body?: object) {
  return request(installation.url, path, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

export async function statusOf(installation: Installation, reference: string, path = 'QRCode') {
  const headers = { 'x-api-key': await installation.apiKey() };
  const { body } = await request(installation.url, `/consumer/${path}/${reference}`, { headers });
  return body as Record<string, unknown>;
}

/** Lets a link expire; its job is then due. */
export async function letExpire(database: Database, id: string): Promise<void> {
  await database.query(`update links set expires_at = clock_timestamp() - interval '1 s' where id = $1`, [id]);
  await database.query(
    `update pgboss.job set start_after = now() where name = 'expire-link' and data ->> 'id' = $1::text`,
    [id],
  );
}

/** The acknowledgement of a tap (extension), with the token of a link. */
export function acknowledgeTap(
  { url }: Installation,
  { token }: HandedLink,
  id: string,
  device: string,
): Promise<RawResponse> {
  const headers = { authorization: `Bearer ${token}`, 'x-device-installation-id': device };
  return request(url, `/transactions/${id}/acknowledge`, { method: 'POST', headers });
}

/** The webhooks that a receiver got for a link, once there are `count`. */
export function untilReported(receiver: Receiver, link: HandedLink, count = 1): Promise<Webhook[]> {
  return eventually(() => {
    const bodies = receiver.received.map(({ body }) => JSON.parse(body.toString()) as Webhook);
    const events = bodies.filter(({ id }) => id === link.id);
    expect(events).toHaveLength(count);
    return events;
  });
}

/** Minutes from the creation of a link to the job that expires it; empty once the job is done. */
export async function minutesToExpiry(database: Database, id: string): Promise<number[]> {
  const text = `select start_after - created_on as wait from pgboss.job where name = 'expire-link' and data ->> 'id' = $1`;
  const { rows } = await database.query<{ wait: { minutes: number } }>(text, [id]);
  return rows.map(({ wait }) => wait.minutes);
}

/** The reference with which the details of a link let its tap be submitted. */
export async function offeredReference(installation: Installation, link: HandedLink): Promise<string> {
  const { body } = await ask(installation, link, `/consumer/qrCodeDetails/${link.id}`);
  return (body as { merchantReference: string }).merchantReference;
}

/** The HTTP status of creating a link with this reference. */
export async function creationOf(installation: Installation, paymentReference: string): Promise<number> {
  return (await post(installation, '/consumer/applink', linkBody('coffee', { paymentReference }))).status;
}
