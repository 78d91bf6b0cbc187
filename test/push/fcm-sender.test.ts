import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { StartError } from '../../src/basics/errors.ts';
import { Secret } from '../../src/codecs/bytes/secret.ts';
import { GuardedFetch } from '../../src/outbound/guarded-fetch.ts';
import { FcmSender, readServiceAccount } from '../../src/push/fcm-sender.ts';
import type { PushMessage } from '../../src/push/ports.ts';
import { FakeFcm } from './fake-fcm.ts';

let fcm: FakeFcm;
let fetcher: GuardedFetch;
let monotonicMs: number;
let sender: FcmSender;
beforeAll(async () => {
  fcm = await FakeFcm.start();
  fetcher = new GuardedFetch({ policy: { allowHttp: true, allowLoopback: true } });
});
beforeEach(async () => {
  monotonicMs = 0;
  const clock = { nowMs: Date.now, monotonicMs: () => monotonicMs };
  sender = new FcmSender({ account: await readServiceAccount(fcm.accountFile), url: fcm.url, fetcher, clock });
});
afterEach(() => {
  fcm.reset();
  fcm.assertions.length = 0;
});
afterAll(async () => {
  fetcher.close();
  await fcm.close();
});

const MESSAGE: PushMessage = {
  reference: 'r',
  pushToken: new Secret('device-token'),
  data: { link: 'https://pay.example/pay/r#token', amount: '10.00' },
  ttlSeconds: 300,
};
const WITHIN_MS = 10_000;

describe('a message', () => {
  test('is sent to its device as data only, at high priority, with its time to live', async () => {
    expect(await sender.send(MESSAGE, WITHIN_MS)).toEqual({ kind: 'sent' });
    expect(fcm.messages).toEqual([
      {
        authorization: 'Bearer access-1',
        token: 'device-token',
        data: MESSAGE.data,
        android: { priority: 'HIGH', ttl: '300s' },
      },
    ]);
  });

  test.each([
    ['no device has its token', 404, 'UNREGISTERED', { kind: 'failed', reason: 'UNREGISTERED' }],
    ['its project is not there', 404, 'SENDER_ID_UNKNOWN', { kind: 'failed', reason: 'REFUSED' }],
    ['it is malformed', 400, 'INVALID_ARGUMENT', { kind: 'failed', reason: 'REFUSED' }],
    ['its token is of another project', 403, 'SENDER_ID_MISMATCH', { kind: 'failed', reason: 'REFUSED' }],
    ['a quota is used up', 429, 'QUOTA_EXCEEDED', { kind: 'unavailable', retryAfterSeconds: undefined }],
    ['the service has a fault', 500, 'INTERNAL', { kind: 'unavailable', retryAfterSeconds: undefined }],
    ['the service is overloaded', 503, 'UNAVAILABLE', { kind: 'unavailable', retryAfterSeconds: undefined }],
  ])('is reported correctly if %s', async (_what, status, errorCode, result) => {
    fcm.response = { status, errorCode };
    expect(await sender.send(MESSAGE, WITHIN_MS)).toEqual(result);
  });

  test('is retried when the service allows', async () => {
    fcm.response = { status: 503, headers: { 'retry-after': '30' } };
    expect(await sender.send(MESSAGE, WITHIN_MS)).toEqual({ kind: 'unavailable', retryAfterSeconds: 30 });
  });

  test('is retried after no response, and after one that cannot be understood', async () => {
    fcm.isHanging = true;
    expect(await sender.send(MESSAGE, 50)).toEqual({ kind: 'unavailable', retryAfterSeconds: undefined });
    const account = await readServiceAccount(fcm.accountFile);
    const clock = { nowMs: Date.now, monotonicMs: () => monotonicMs };
    const nowhere = new FcmSender({ account, url: 'http://127.0.0.1:1', fetcher, clock });
    expect(await nowhere.send(MESSAGE, WITHIN_MS)).toMatchObject({ kind: 'unavailable' });
  });
});

describe('an access token', () => {
  test('is requested once, with an assertion of the account, for any number of messages', async () => {
    await Promise.all([1, 2, 3].map(() => sender.send(MESSAGE, WITHIN_MS)));
    await sender.send(MESSAGE, WITHIN_MS);
    expect(fcm.messages).toHaveLength(4);
    expect(fcm.assertions).toHaveLength(1);
    const { exp, iat, scope } = fcm.assertions[0]!;
    expect(scope).toBe('https://www.googleapis.com/auth/firebase.messaging');
    expect(exp! - iat!).toBe(300);
  });

  test('is renewed a minute before it ends', async () => {
    fcm.expiresIn = 600;
    await sender.send(MESSAGE, WITHIN_MS);
    monotonicMs = 539_000;
    await sender.send(MESSAGE, WITHIN_MS);
    expect(fcm.assertions).toHaveLength(1);
    monotonicMs = 541_000;
    await sender.send(MESSAGE, WITHIN_MS);
    expect(fcm.messages.map(({ authorization }) => authorization)).toEqual([
      'Bearer access-1',
      'Bearer access-1',
      'Bearer access-2',
    ]);
  });

  test('an access token that is refused before its time is renewed once, not repeatedly', async () => {
    await sender.send(MESSAGE, WITHIN_MS);
    fcm.revoked.add('Bearer access-1');
    expect(await sender.send(MESSAGE, WITHIN_MS)).toEqual({ kind: 'sent' });
    fcm.revoked.add('Bearer access-2').add('Bearer access-3').add('Bearer access-4');
    expect(await sender.send(MESSAGE, WITHIN_MS)).toEqual({ kind: 'failed', reason: 'REFUSED' });
    fcm.revoked.clear();
  });

  test('an access token that is not issued makes the message wait', async () => {
    fcm.tokenStatus = 500;
    expect(await sender.send(MESSAGE, WITHIN_MS)).toEqual({ kind: 'unavailable', retryAfterSeconds: undefined });
    fcm.tokenStatus = 200;
    expect(await sender.send(MESSAGE, WITHIN_MS)).toEqual({ kind: 'sent' });
  });
});

describe('an unusable service account is reported with its position, never with its key', () => {
  const account = () => JSON.parse(readFileSync(fcm.accountFile, 'utf8')) as Record<string, unknown>;
  test.each<[string, () => string, RegExp]>([
    ['no JSON', () => 'private', /is no service account/],
    ['another type', () => JSON.stringify({ ...account(), type: 'authorized_user' }), /see \/type/],
    ['no URL for tokens', () => JSON.stringify({ ...account(), token_uri: 'x' }), /see \/token_uri/],
    [
      'a project that would change the address',
      () => JSON.stringify({ ...account(), project_id: '../x' }),
      /project_id/,
    ],
    ['no key', () => JSON.stringify({ ...account(), private_key: 'secret words' }), /no RSA key in \/private_key$/],
    ['a file without end', () => 'x'.repeat(20_000), /too large/],
  ])('%s', async (_what, text, message) => {
    const path = `${fcm.accountFile}.broken`;
    writeFileSync(path, text());
    const error = await readServiceAccount(path).catch((refusal) => refusal);
    expect(error).toBeInstanceOf(StartError);
    expect((error as StartError).reason).toMatch(message);
    expect((error as StartError).reason).not.toContain('secret words');
  });

  test('no file', async () => {
    await expect(readServiceAccount('/nowhere/account.json')).rejects.toThrow('cannot be read (ENOENT)');
  });
});
