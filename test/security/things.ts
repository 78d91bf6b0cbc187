import { randomBytes, randomUUID } from 'node:crypto';
import { saveProcessor, saveRoute } from '../../src/store/settings/tenants.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import type { Installation } from '../support/installation.ts';
import { linkBody, MANDATE, post } from '../support/links.ts';
import { sealPin, tapForPin } from '../support/pins.ts';
import { savePortalUser } from '../support/portal-users.ts';
import { outcomeOf } from '../support/responses.ts';
import { MERCHANTS, type MerchantName, xTidOf } from '../support/tenants.ts';
import { untilResponded } from '../support/transactions.ts';

export type Headers = Readonly<Record<string, string>>;

/**
 * Everything that a merchant and its parents have and that a request can name in its address, query, headers or body.
 */
export interface Things {
  readonly acquirerId: number;
  readonly integratorId: number;
  readonly merchantId: string;
  readonly xTid: string;
  readonly profile: string;
  readonly blockedDevice: string;
  readonly attester: string;
  readonly processorId: number;
  readonly routeId: number;
  readonly keyId: string;
  readonly userId: string;
  readonly issuerKeyId: string;
  /** A sale at rest, and its device. */
  readonly transactionId: string;
  readonly merchantReference: string;
  readonly device: string;
  /** A transaction that waits for its PIN, and the request that would submit it. */
  readonly pinTransactionId: string;
  readonly pin: object;
  /** An unpaid intent, and its token. */
  readonly linkId: string;
  readonly paymentReference: string;
  readonly intentToken: string;
  readonly mandateId: string;
  readonly registrationId: string;
  readonly eventId: string;
  readonly merchantToken: string;
}

/** An address without a listener: registrations with it are only read. */
export const NOWHERE = 'http://127.0.0.1:1099/';
const CONFIG = { addresses: [{ host: '127.0.0.1', port: 9 }], acquirerId: '50001' };
export const PROCESSOR = { type: 'type-1', config: CONFIG };

/** Things that do not exist. */
export function nobodysThings(like: Things): Things {
  return {
    ...like,
    acquirerId: 77,
    integratorId: 7_777,
    merchantId: 'unknown',
    xTid: 'TERM-unknown',
    profile: 'unknown',
    blockedDevice: 'unknown',
    attester: 'unknown',
    processorId: 7_777,
    routeId: 7_777,
    keyId: randomBytes(8).toString('hex'),
    ...uuids(['userId', 'issuerKeyId', 'transactionId', 'device', 'pinTransactionId', 'linkId']),
    ...uuids(['merchantReference', 'paymentReference', 'mandateId', 'registrationId', 'eventId']),
    merchantToken: [like.merchantToken.split('.')[0], claims({ iss: 'https://unknown.example', sub: '1' }), 'AA'].join(
      '.',
    ),
  };
}

function uuids(names: readonly (keyof Things)[]): object {
  return Object.fromEntries(names.map((name) => [name, randomUUID()]));
}

function claims(given: object): string {
  const now = Math.floor(Date.now() / 1_000);
  const rest = { usr: 'u', aud: 'tapwire', iat: now, exp: now + 60 };
  return Buffer.from(JSON.stringify({ ...given, ...rest })).toString('base64url');
}

/** One of everything for a merchant, which no other tenant has. */
export async function thingsOf(installation: Installation, merchant: MerchantName, number: number): Promise<Things> {
  const { acquirerId, integratorId, id: merchantId } = MERCHANTS[merchant];
  const phone = installation.phone(merchant);
  const key = await saveApiKey(installation.database, { acquirerId, integratorId }, [
    'payments:create',
    'devices:manage',
    'webhooks:manage',
  ]);
  const merchantToken = await phone.token();
  const headers = { 'x-api-key': key };
  const both = { ...headers, authorization: `Bearer ${merchantToken}` };
  await made(installation, '/integrator/callbackUrl', { callbackUrl: NOWHERE }, both);
  const merchantReference = randomUUID();
  const taps = async () => {
    const { serviceReference } = outcomeOf(await phone.tap({ amount: '100.00', currency: 'ZAR', merchantReference }));
    await untilResponded(installation.database, serviceReference);
    const asked = await tapForPin(phone);
    return { transactionId: serviceReference, pinTransactionId: asked.id, pin: await sealPin(phone, asked) };
  };
  const [tapped, intent, mandate, registered, configured] = await Promise.all([
    taps(),
    intentOf(installation, merchant, headers),
    made(installation, '/consumer/tt3IntentTransaction', linkBody(merchant, MANDATE), headers),
    made(installation, '/devices', { ...deviceBody(), merchantId }, { authorization: both.authorization }),
    configure(installation, merchant, number),
  ]);
  return {
    acquirerId,
    integratorId,
    merchantId,
    merchantToken,
    merchantReference,
    device: phone.deviceInstallationId,
    ...tapped,
    ...configured,
    ...intent,
    mandateId: mandate.id,
    registrationId: registered.id,
    eventId: await eventOf(installation, tapped.transactionId),
    keyId: key.split('_')[2]!,
  };
}

/** An unpaid intent. */
export async function intentOf(installation: Installation, merchant: MerchantName, headers: Headers, amount = '10.00') {
  const body = linkBody(merchant, { amount });
  const { id, token } = await made(installation, '/consumer/intentTransaction', body, headers);
  return { linkId: id, paymentReference: body.paymentReference, intentToken: token! };
}

export function deviceBody(deviceInstallationId: string = randomUUID()) {
  return { deviceInstallationId, pushToken: `push-${randomUUID()}`, friendlyName: 'Till' };
}

/**
 * @param body or a function that makes a new one for each try, if a thing can be created only once
 * @throws if it is refused
 */
export async function made(
  installation: Installation,
  path: string,
  body: object | (() => object | Promise<object>),
  headers: Headers,
): Promise<{ readonly id: string; readonly token?: string }> {
  // On a busy machine a statement may time out. If it is unknown whether the commit succeeded, the thing may exist.
  const response = await eventually(async () => {
    const each = await post(installation, path, typeof body === 'function' ? await body() : body, headers);
    if (each.status === 503) throw new Error(`${path}: 503 ${JSON.stringify(each.body)}`);
    return each;
  });
  if (response.status >= 300) throw new Error(`${path}: ${response.status} ${JSON.stringify(response.body)}`);
  return response.body as { id: string };
}

/** The settings of an acquirer, with numbers that no other acquirer uses. */
async function configure({ database }: Installation, merchant: MerchantName, number: number) {
  const { acquirerId, integratorId, id: merchantId } = MERCHANTS[merchant];
  const [profile, blockedDevice] = [`profile ${merchant}`, `stolen from ${merchant}`];
  await saveProcessor(database, { acquirerId, id: number, ...PROCESSOR });
  await saveRoute(database, { acquirerId, id: number, processorId: number, priority: 999, xTid: 'unknown' });
  await database.query('insert into terminal_profiles (acquirer_id, name, overrides) values ($1, $2, $3)', [
    acquirerId,
    profile,
    '[]',
  ]);
  await database.query('insert into blocked_devices (acquirer_id, device_installation_id) values ($1, $2)', [
    acquirerId,
    blockedDevice,
  ]);
  const attester = `phones-${number}`;
  await database.query(
    `insert into attesters (acquirer_id, name, issuer, public_key, max_age_seconds, is_required)
     select acquirer_id, $2, 'https://attest.example', public_key, 300, false from issuer_keys where acquirer_id = $1 and public_key is not null limit 1`,
    [acquirerId, attester],
  );
  const { id: userId } = await savePortalUser(database, { acquirerId, merchantId }, 'viewer');
  const { rows } = await database.query<{ id: string }>(
    'select id from issuer_keys where acquirer_id = $1 and integrator_id = $2',
    [acquirerId, integratorId],
  );
  const xTid = xTidOf(merchant);
  return {
    processorId: number,
    routeId: number,
    profile,
    blockedDevice,
    attester,
    userId,
    issuerKeyId: rows[0]!.id,
    xTid,
  };
}

function eventOf({ database }: Installation, transactionId: string): Promise<string> {
  return eventually(async () => {
    const { rows } = await database.query<{ id: string }>('select id from webhook_events where transaction_id = $1', [
      transactionId,
    ]);
    if (!rows[0]) throw new Error('no event yet');
    return rows[0].id;
  });
}
