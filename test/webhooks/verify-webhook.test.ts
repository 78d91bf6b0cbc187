import { Webhook as Library } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import type { Webhook } from '../../schemas/webhook.ts';
import { createWebhookSecret, signWebhook, verifyWebhook } from '../../src/webhooks/webhook-signature.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00.900Z');
const ID = '8a1f5c52-3f0e-4a57-9f57-0d9a2b1c8e11';
const EVENT: Webhook = {
  type: 'transaction.completed',
  timestamp: '2026-03-01T11:59:59.000Z',
  sequence: 1,
  id: '6f1c0a52-7f0e-4a57-9f57-0d9a2b1c8e11',
  merchantId: '1001',
  merchantReference: 'Zoë · 4711',
  disposition: 'Approved',
  authorisationCode: '123456',
  amount: 10.51,
  amountMinor: 1_051,
  currency: 'ZAR',
  serviceReference: '6f1c0a52-7f0e-4a57-9f57-0d9a2b1c8e11',
  deviceInstallationId: 'device-1',
};
const BODY = JSON.stringify(EVENT);
const secret = createWebhookSecret();
const signed = (body = BODY, atMs = NOW_MS, ...others: ReturnType<typeof createWebhookSecret>[]) =>
  signWebhook([secret, ...others], { id: ID, body, atMs });

const verify = (headers: Record<string, string>, body: string | Uint8Array = BODY, key = secret, nowMs = NOW_MS) =>
  verifyWebhook(key.reveal(), { headers, body: Buffer.from(body) }, nowMs);

test('a secret is whsec_ and 32 random bytes, and prints as nothing', () => {
  expect(secret.reveal()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(createWebhookSecret().reveal()).not.toBe(secret.reveal());
  expect(`${secret} ${JSON.stringify({ secret })}`).toBe('[secret] {"secret":"[secret]"}');
});

describe('a signature', () => {
  test('is accepted by the library of Standard Webhooks', () => {
    const headers = signed(BODY, Date.now());
    expect(new Library(secret.reveal()).verify(BODY, headers)).toEqual(EVENT);
    expect(() => new Library(secret.reveal()).verify(`${BODY} `, headers)).toThrow();
  });

  test('equals that of the published example', () => {
    const published = { reveal: () => 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' } as typeof secret;
    const headers = signWebhook([published], {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      body: '{"test": 2432232314}',
      atMs: 1_614_265_330_000,
    });
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  test('is made with both secrets during a rotation, so that a receiver may know either', () => {
    const next = createWebhookSecret();
    const headers = signed(BODY, NOW_MS, next);
    expect(headers['webhook-signature'].split(' ')).toHaveLength(2);
    expect(verify(headers)).toMatchObject({ isGenuine: true });
    expect(verify(headers, BODY, next)).toMatchObject({ isGenuine: true });
    expect(verify(headers, BODY, createWebhookSecret())).toMatchObject({ check: 'signature' });
  });
});

describe('a receiver', () => {
  test('gets the event and its id from a genuine webhook', () => {
    expect(verify(signed())).toEqual({ isGenuine: true, id: ID, event: EVENT });
  });

  test('ignores signatures of unknown versions', () => {
    const headers = signed();
    const mixed = { ...headers, 'webhook-signature': `v1a,AAAA ${headers['webhook-signature']} v2,BBBB` };
    expect(verify(mixed)).toMatchObject({ isGenuine: true });
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('learns that %s is missing', (name) => {
    const { [name]: _gone, ...headers } = signed() as Record<string, string>;
    expect(verify(headers)).toMatchObject({ isGenuine: false, check: 'headers' });
  });

  test.each([
    'now',
    '',
    '12e3',
    '-1',
    '1772366400abc',
    '9'.repeat(40),
  ])('learns that the timestamp %j is invalid', (at) => {
    expect(verify({ ...signed(), 'webhook-timestamp': at })).toMatchObject({ check: 'timestamp' });
  });

  test('learns that a webhook is more than five minutes old, or from the future', () => {
    expect(verify(signed(), BODY, secret, NOW_MS + 299_000)).toMatchObject({ isGenuine: true });
    expect(verify(signed(), BODY, secret, NOW_MS + 302_000)).toMatchObject({ check: 'age' });
    expect(verify(signed(), BODY, secret, NOW_MS - 302_000)).toMatchObject({ check: 'age' });
  });

  test.each([
    ['another byte', BODY.replace('10.51', '10.52')],
    ['another word', BODY.replace('Approved', 'Declined')],
    ['nothing', ''],
    ['no JSON', 'amount=10.51'],
  ])('learns that the signature does not match: %s', (_what, body) => {
    expect(verify(signed(), body)).toMatchObject({ check: 'signature' });
  });

  test('learns that the signature does not match bytes that are not text, even if they look the same', () => {
    const bytes = Buffer.concat([Buffer.from(BODY.slice(0, -2)), Buffer.of(0xff), Buffer.from('"}')]);
    const alike = bytes.toString();
    expect(verify(signed(alike), bytes)).toMatchObject({ check: 'signature' });
  });

  test.each([
    ['indented', JSON.stringify(EVENT, undefined, 2)],
    ['with blanks', BODY.replaceAll('":', '": ')],
    ['with escapes', BODY.replace('ë', '\\u00eb')],
  ])('learns that it verifies a body that was parsed and written again: %s', (_how, body) => {
    expect(verify(signed(), body)).toMatchObject({ isGenuine: false, check: 'rawBody' });
  });

  test('learns that another id or timestamp was set', () => {
    expect(verify({ ...signed(), 'webhook-id': 'another' })).toMatchObject({ check: 'signature' });
    const later = String(Math.floor(NOW_MS / 1_000) + 60);
    expect(verify({ ...signed(), 'webhook-timestamp': later })).toMatchObject({ check: 'signature' });
  });

  test('learns that a signed body is not a Tapwire webhook', () => {
    expect(verify(signed('{"type":"invoice.paid"}'), '{"type":"invoice.paid"}')).toMatchObject({ check: 'payload' });
    expect(verify(signed('no JSON'), 'no JSON')).toMatchObject({ check: 'payload' });
  });

  test.each(['', 'secret', 'whsec_', 'whsec_!!!'])('learns that its secret %j is invalid', (text) => {
    expect(verifyWebhook(text, { headers: signed(), body: Buffer.from(BODY) }, NOW_MS)).toMatchObject({
      check: 'secret',
    });
  });
});
