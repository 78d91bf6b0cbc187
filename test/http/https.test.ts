import { request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/start/config.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { type Installation, type StartedGateway, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';

/** On this machine every address of 127/8 is available: one is the proxy's, the usual one any other client's. */
const PROXY = '127.0.0.2';
const CLIENT = '127.0.0.1';
const TOKEN = 'a scraper shows this one';
const PUBLIC = { BASE_URL: 'https://api.example', APP_URL: 'https://pay.example' };

let installation: Installation;
let qa: StartedGateway;
let key: string;
beforeAll(async () => {
  installation = await startInstallation();
  const settings = { TAPWIRE_ENV: 'qa', TRUSTED_PROXIES: PROXY, METRICS_TOKEN: TOKEN, ...PUBLIC };
  qa = await installation.startGateway(settings);
  key = await saveApiKey(installation.database, { acquirerId: 1, integratorId: 10 }, ['transactions:read']);
});
afterAll(async () => {
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
});

async function get(path: string, { from = CLIENT, headers = {} as Record<string, string>, url = qa.url } = {}) {
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    httpRequest(new URL(path, url), { localAddress: from, headers, agent: false })
      .once('response', resolve)
      .once('error', reject)
      .end();
  });
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

const HTTPS = { 'x-forwarded-proto': 'https' };

describe('behind a proxy that ends TLS, in qa and prod', () => {
  test('a client of the proxy is served if it used HTTPS, and must keep using it', async () => {
    const response = await get('/transactions', { from: PROXY, headers: { ...HTTPS, 'x-api-key': key } });
    expect(response.status).toBe(200);
    expect(response.headers['strict-transport-security']).toBe('max-age=31536000');
  });

  test.each([
    ['a direct client in plain HTTP', CLIENT, {}],
    ['a direct client that claims to have used HTTPS', CLIENT, HTTPS],
    ['a client of the proxy that used HTTP', PROXY, { 'x-forwarded-proto': 'http' }],
    ['a client of the proxy of which nothing is said', PROXY, {}],
    ['a client that sets the header of the proxy', PROXY, { 'x-forwarded-proto': 'https, http' }],
  ])('%s is refused, with any credential', async (_who, from, headers) => {
    for (const path of ['/transactions', '/openapi.json', '/docs', '/ops', '/nothing']) {
      const response = await get(path, { from, headers: { ...headers, 'x-api-key': key } });
      expect(response.status, path).toBe(403);
      expect(response.headers['content-type']).toBe('application/problem+json');
      expect(response.headers['strict-transport-security']).toBeUndefined();
      expect(JSON.parse(response.body)).toMatchObject({ errorCode: 101 });
      expect(response.body).toContain('HTTPS is required');
    }
  });

  test('probes reach the process at its own address', async () => {
    for (const path of ['/livez', '/readyz', '/healthz']) expect((await get(path)).status, path).toBe(200);
    expect((await get('/metrics')).status).toBe(401);
  });

  test('everything is plain HTTP in dev', async () => {
    const response = await get('/transactions', { headers: { 'x-api-key': key }, url: installation.url });
    expect(response.status).toBe(200);
    expect(response.headers['strict-transport-security']).toBeUndefined();
  });
});

describe('the state of each switch', () => {
  const asked = async (path: string, authorization?: string) =>
    JSON.parse((await get(path, { headers: authorization === undefined ? {} : { authorization } })).body) as object;

  test.each(['/readyz', '/healthz'])('is not public at %s', async (path) => {
    const bare = { status: 'ok', database: 'up', isDraining: false };
    expect(await asked(path)).toEqual(bare);
    expect(await asked(path, 'Bearer another secret of Tapwire')).toEqual(bare);
    expect(await asked(path, `Bearer ${TOKEN}`)).toMatchObject({ ...bare, switches: { '1 1': expect.anything() } });
  });

  test('is public in dev', async () => {
    const { body } = await get('/healthz', { url: installation.url });
    expect(JSON.parse(body)).toMatchObject({ switches: { '1 1': expect.anything() } });
  });
});

test('links and the description begin with the public addresses', async () => {
  const { body } = await get('/openapi.json', { from: PROXY, headers: HTTPS });
  expect(body).toContain(PUBLIC.BASE_URL);
  expect(body).not.toContain('http://127.0.0.1');
});

describe('an invalid configuration of qa or prod is refused', () => {
  const RIGHT = { DATABASE_URL: 'postgres://x/x', TRUSTED_PROXIES: '10.0.0.1, 10.1.0.0/16, ::1', ...PUBLIC };
  test.each(['qa', 'prod'])('a valid configuration of %s is not refused', (TAPWIRE_ENV) => {
    expect(readConfig({ TAPWIRE_ENV, ...RIGHT }).APP_URL).toBe(PUBLIC.APP_URL);
  });

  test.each([
    ['without APP_URL', { APP_URL: undefined }, /APP_URL: is required/],
    ['without BASE_URL', { BASE_URL: undefined }, /BASE_URL: is required/],
    ['with links in plain HTTP', { APP_URL: 'http://pay.example' }, /APP_URL: must begin with https/],
    ['with AUTH_URL in plain HTTP', { AUTH_URL: 'http://pay.example' }, /AUTH_URL: must begin with https/],
    ['trusting every address', { TRUSTED_PROXIES: '10.0.0.1,0.0.0.0/0' }, /TRUSTED_PROXIES: .*every address/],
    ['trusting every address of IPv6', { TRUSTED_PROXIES: '::/0' }, /TRUSTED_PROXIES: .*every address/],
    ['trusting an invalid address', { TRUSTED_PROXIES: 'proxy.example' }, /TRUSTED_PROXIES: .*must be an IP address/],
  ])('%s', (_what, change, reason) => {
    for (const TAPWIRE_ENV of ['qa', 'prod']) {
      expect(() => readConfig({ TAPWIRE_ENV, ...RIGHT, ...change })).toThrow(reason);
    }
  });
});
