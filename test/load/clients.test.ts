import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CardDataPublicKey } from '../../schemas/card-data.ts';
import type { LinkStatus } from '../../schemas/link.ts';
import type { OnlineAuthorization } from '../../schemas/mobile-transaction.ts';
import { type ClientCall, Fleet, RequestWriter } from '../../src/tools/load/clients/fleet.ts';
import type { Clients } from '../../src/tools/load/clients/tap-calls.ts';
import { findScenario } from '../../src/tools/load/scenarios.ts';

const ID = '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11';
const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/);
const MERCHANT = { id: '1001', name: 'Shop', mcc: '5411', xTid: 'T1', user: 'till' };
const plain = new RequestWriter(new URL('http://gateway.test:3000/'), false);

let clients: Clients;
beforeAll(async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const issuer = { iss: 'i', kid: 'k', audience: 'a', algorithm: 'ES256' as const, privateKey, publicKey };
  const { x } = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
  const cardDataKey: CardDataPublicKey = { kty: 'OKP', crv: 'X25519', kid: 'c', x: x!, use: 'enc', alg: 'ECDH-ES' };
  const fleet = await Fleet.create({ issuer, merchants: [MERCHANT], cardDataKey, phones: 1, seconds: 60 });
  clients = { fleet, requests: plain, backend: { apiKey: 'tw_test_key' } };
});

/** Parses a written request. */
function parse(written: Buffer) {
  const text = written.toString('utf8');
  const headEnd = text.indexOf('\r\n\r\n');
  const [start = '', ...lines] = text.slice(0, headEnd).split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]));
  const [method, path, version] = start.split(' ');
  return { method, path, version, headers, body: text.slice(headEnd + 4) };
}

const json = (body: unknown, status = 200) => ({ status, body: Buffer.from(JSON.stringify(body)), keepsAlive: true });

const authorized = (changes: Partial<OnlineAuthorization> = {}) =>
  json({
    onlineAuthorizationResponse: {
      serviceReference: ID,
      type: 'Approved',
      authorizationCode: '123456',
      tags: [],
      isSingleTapAndPin: false,
      cardReaderId: '',
      cardReaderTransactionId: '',
      amount: 1_000,
      amountMinor: 1_000,
      currency: 'ZAR',
      merchantReference: 'r',
      cardScheme: 'Visa',
      cardType: '',
      maskedPAN: '411111******1111',
      isoResponseCode: '00',
      ...changes,
    } satisfies OnlineAuthorization,
  });

const callOf = (scenario: string) => findScenario(scenario)!.call(clients, scenario, 0);

/** The call that follows a response. */
function next(call: ClientCall, response: ReturnType<typeof json>): ClientCall {
  const step = call.read(response);
  if ('request' in step) return step;
  throw new Error(`it ended: ${step.outcome}`);
}

describe('a written request', () => {
  test('has its path, its headers and the number of following bytes', () => {
    const writer = new RequestWriter(new URL('https://gateway.test/prefix/'), true);
    const request = { method: 'POST', path: '/a?b=c', headers: { accept: 'x' }, body: '{"name":"Café"}' } as const;
    expect(parse(writer.write(request))).toEqual({
      method: 'POST',
      path: '/prefix/a?b=c',
      version: 'HTTP/1.1',
      headers: { host: 'gateway.test', connection: 'close', accept: 'x', 'content-length': '16' },
      body: '{"name":"Café"}',
    });
  });

  test('states the length of an empty body if there might be one, and keeps its connection', () => {
    const empty = { path: '/', headers: {}, body: undefined };
    const [post, get] = (['POST', 'GET'] as const).map((method) => parse(plain.write({ ...empty, method })));
    expect(post!.headers).toEqual({ host: 'gateway.test:3000', 'content-length': '0' });
    expect(get!.headers).toEqual({ host: 'gateway.test:3000' });
  });
});

describe('a phone of a load test', () => {
  test('submits a tap according to 4.4', () => {
    const { method, path, headers, body } = parse(callOf('approve').request);
    expect(`${method} ${path}`).toBe('POST /transactions/mobile');
    expect(headers).toMatchObject({
      authorization: expect.stringMatching(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/),
      'x-device-installation-id': UUID,
      'x-correlation-id': UUID,
      'content-type': 'application/json',
    });
    expect(JSON.parse(body)).toEqual({
      merchantReference: UUID,
      generalCardData: expect.any(String),
      paymentCardData: expect.any(String),
    });
  });

  test('reads the reported outcome, and whether it was expected', () => {
    const call = callOf('approve');
    expect(call.read(authorized())).toEqual({ outcome: 'Approved', isExpected: true, isError: false });
    expect(call.read(authorized({ type: 'Declined' }))).toMatchObject({ outcome: 'Declined', isExpected: false });
  });

  test.each([
    ['a refusal', { ...json({}, 503), status: 503 }, 'HTTP 503'],
    ['no JSON', { status: 200, body: Buffer.from('<html>'), keepsAlive: true }, 'HTTP 200'],
    ['a response to something else', json({ status: 'ok' }), 'HTTP 200'],
    ['half of a response', authorized({ maskedPAN: undefined as never }), 'HTTP 200'],
  ])('counts %s as an error', (_what, response, outcome) => {
    expect(callOf('approve').read(response)).toEqual({ outcome, isExpected: false, isError: true });
  });

  test('enters the required PIN, with the same reference', () => {
    const call = callOf('pin');
    const asked = authorized({ type: 'Declined', isSingleTapAndPin: true, pinToken: 'pin.token' });
    const withPin = next(call, asked);
    const { method, path, body } = parse(withPin.request);
    expect(`${method} ${path}`).toBe(`POST /transactions/${ID}/submitPinMobile`);
    const { merchantReference } = JSON.parse(parse(call.request).body);
    expect(JSON.parse(body)).toMatchObject({ merchantReference, pinToken: 'pin.token' });
    expect(withPin.read(authorized())).toMatchObject({ outcome: 'Approved', isExpected: true });
  });

  test('looks up its latest tap, and a page of its list', () => {
    callOf('approve').read(authorized());
    const detail = callOf('status');
    expect(parse(detail.request)).toMatchObject({ method: 'GET', path: `/transactions/${ID}`, body: '' });
    expect(parse(callOf('list').request).path).toBe('/transactions?limit=20');
    expect(callOf('list').read(json([]))).toMatchObject({ outcome: 'Found', isExpected: true });
    expect(detail.read(json([]))).toMatchObject({ outcome: 'HTTP 200', isError: true });
  });
});

describe('a backend of a load test', () => {
  const at = '2026-11-20T12:00:00.000Z';
  const link = json({ url: 'https://pay.test/pay/x#token', reference: ID, expiresAt: at });
  const status: LinkStatus = {
    qrCodeState: 'TransactionCreated',
    transactionId: ID,
    merchantTransactionReference: 'r',
    userId: '',
    status: null,
    disposition: 'Approved',
    amount: '10.00',
    amountMinor: 1_000,
    currency: 'ZAR',
    type: 'Tap',
    responseCode: '0',
    authorisationCode: '123456',
    createdAt: at,
    updatedAt: at,
    paymentReference: 'r',
    expired: false,
    expiresAt: at,
  };

  test('creates a link, and looks it up after its tap', () => {
    const made = callOf('link');
    const { path, headers, body } = parse(made.request);
    expect(path).toBe('/consumer/applink');
    expect(headers).toMatchObject({ 'x-api-key': 'tw_test_key', 'idempotency-key': UUID });
    const { paymentReference } = JSON.parse(body);
    const tapped = next(made, link);
    expect(JSON.parse(parse(tapped.request).body)).toMatchObject({ merchantReference: paymentReference });
    const looked = next(tapped, authorized());
    expect(parse(looked.request)).toMatchObject({ method: 'GET', path: `/consumer/QRCode/${ID}` });
    expect(parse(looked.request).headers).toMatchObject({ 'x-api-key': 'tw_test_key' });
    expect(looked.read(json(status))).toEqual({ outcome: 'Approved', isExpected: true, isError: false });
    expect(looked.read(json({}))).toMatchObject({ outcome: 'HTTP 200', isError: true });
  });

  test('looks up no link whose tap had an unexpected outcome', () => {
    const tapped = next(callOf('link'), link);
    expect(tapped.read(authorized({ type: 'Declined' }))).toMatchObject({ outcome: 'Declined', isExpected: false });
    expect(callOf('link').read(json({}, 400))).toMatchObject({ outcome: 'HTTP 400', isError: true });
  });

  test('creates none without an API key', () => {
    const without = { ...clients, backend: undefined };
    expect(() => findScenario('link')!.call(without, 'link', 0)).toThrow(
      expect.objectContaining({ code: 'BAD_FILE', reason: expect.stringContaining('no apiKey') }),
    );
  });
});
