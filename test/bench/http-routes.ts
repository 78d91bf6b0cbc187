import { randomUUID } from 'node:crypto';
import { createApiKey } from '../../src/auth/api-key.ts';
import { insertApiKey } from '../../src/store/credentials/api-keys.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { saveIssuerKey, saveTerminals } from '../../src/store/settings/tenants.ts';
import { signMerchantToken } from '../../src/tools/phone/phone.ts';
import { createTokenIssuer } from '../support/token-issuer.ts';

/** A route to measure, and its requests: each is different, so that no cache responds. */
export interface BenchRoute {
  readonly name: string;
  readonly next: () => Buffer;
}

/** Merchant m0 has a fifth of all rows; see seed-transactions.ts. */
const LARGEST_MERCHANT = 'm0';
/** More than needed, because pages are sampled, and some are nearly empty. */
const SAMPLE = 20_000;
/** The links whose status is requested. */
const LINKS = 200;

export async function httpRoutes(database: Database, port: number, rows: number): Promise<BenchRoute[]> {
  const key = await benchKey(database);
  const ids = await someIds(database, rows);
  const references = await Promise.all(Array.from({ length: LINKS }, () => createLink(port, key)));
  const bearer = { authorization: `Bearer ${await merchantToken(database)}` };
  let turn = 0;
  const inTurn = (paths: readonly string[]) => () => get(paths[turn++ % paths.length]!, key);
  const creating = (image: object) => () => post('/consumer/applink', key, { ...newLink(), image });
  return [
    { name: 'detail', next: inTurn(ids.map((id) => `/transactions/${id}`)) },
    { name: 'list, 100 of a merchant', next: inTurn([`/transactions?merchant=${LARGEST_MERCHANT}&limit=100`]) },
    { name: 'list, 100 of the acquirer', next: inTurn(['/transactions?limit=100']) },
    {
      name: 'list, 100 declines of a merchant',
      next: inTurn([`/transactions?merchant=${LARGEST_MERCHANT}&transactionDisposition=Declined`]),
    },
    {
      name: 'list, 100 of a user',
      next: inTurn([0, 1, 2, 3, 4, 5, 6].map((user) => `/transactions?user=till-${user}`)),
    },
    {
      name: 'list, by reference',
      next: inTurn(ids.map((_, index) => `/transactions?merchantReference=order-${1 + ((index * 7919) % rows)}`)),
    },
    { name: 'link creation', next: creating({ required: false }) },
    { name: 'link creation with QR', next: creating({ required: true }) },
    { name: 'link status', next: inTurn(references.map((reference) => `/consumer/QRCode/${reference}`)) },
    { name: 'proximity token', next: () => post('/mobile/proximity-token', bearer) },
  ];
}

async function benchKey(database: Database): Promise<Record<string, string>> {
  const scopes = ['transactions:read', 'payments:create'];
  const wanted = { mode: 'test', owner: { acquirerId: 1 }, scopes, name: 'bench', expiresAtMs: null } as const;
  const { text, record } = createApiKey(wanted);
  await insertApiKey(database, record);
  return { 'x-api-key': text.reveal() };
}

/** Of a merchant's backend, with permission for tokens of readers; its key is registered again each time. */
async function merchantToken(database: Database): Promise<string> {
  const issuer = createTokenIssuer(`https://bench-${randomUUID()}.example`);
  const owner = { acquirerId: 1, integratorId: 1 };
  await saveIssuerKey(database, {
    ...owner,
    issuer: issuer.iss,
    kid: issuer.kid,
    algorithms: ['ES256'],
    publicKey: issuer.publicKey,
  });
  await saveTerminals(database, [{ acquirerId: 1, xTid: 'T0', tid: 'TW0', mid: 'SEED0', canTakePin: true }]);
  await untilKnown();
  const merchant = { id: LARGEST_MERCHANT, name: 'Merchant 0', mcc: '5411', xTid: 'T0', user: 'till' };
  const profile = { url: '', apiKey: '', login: { username: '', password: '' }, merchant, issuer };
  return signMerchantToken(profile, { scope: 'createMobileProximityToken', 'x-tid': 'T0' });
}

/** The time within which a running gateway knows new tenants. */
const untilKnown = () => new Promise((resolve) => setTimeout(resolve, 6_000));

function newLink() {
  const paymentReference = randomUUID();
  const timestamp = new Date().toISOString();
  return {
    merchantId: LARGEST_MERCHANT,
    paymentReference,
    amount: '10.00',
    timestamp,
    currencyCode: 'ZAR',
    isConsumerApp: true,
  };
}

async function createLink(port: number, key: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/consumer/applink`, {
    method: 'POST',
    headers: { ...key, 'content-type': 'application/json' },
    body: JSON.stringify({ ...newLink(), image: { required: false } }),
  });
  const { reference } = (await response.json()) as { reference: string };
  return reference;
}

/** Spread over the whole table, so that most of their pages are not in memory because of a recent read. */
async function someIds(database: Database, rows: number): Promise<string[]> {
  const { rows: found } = await database.query<{ id: string }>(
    'select id from transactions tablesample system ($1) limit 5000',
    [Math.min(100, (SAMPLE * 100) / rows)],
  );
  return found.map(({ id }) => id);
}

function get(path: string, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: bench\r\n${lines.join('')}\r\n`);
}

function post(path: string, headers: Readonly<Record<string, string>>, content?: object): Buffer {
  const body = content === undefined ? '' : JSON.stringify(content);
  const type = content === undefined ? {} : { 'content-type': 'application/json' };
  const all = { ...headers, ...type, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${path} HTTP/1.1\r\nhost: bench\r\n${lines.join('')}\r\n${body}`);
}
