import { decodeJwt } from 'jose';
import { beforeEach, expect, test } from 'vitest';
import { createPinTokens, OwnTokens } from '../../../src/auth/tokens/gateway-tokens.ts';
import type { PinTokens } from '../../../src/payments/ports/switch-ports.ts';
import { createTokenKey } from '../../support/own-tokens.ts';
import { sampleTransaction } from '../../transactions/sample-transaction.ts';

const START_MS = Date.parse('2026-03-01T12:00:00Z');
const KEY = createTokenKey('key-1');
const RING = { tokenSigning: [KEY], tokenKey: () => KEY };
const AWAITING = sampleTransaction({ pinExpiresAtMs: START_MS + 89_400 });

let nowMs: number;
let pinTokens: PinTokens;
beforeEach(() => {
  nowMs = START_MS;
  pinTokens = createPinTokens(new OwnTokens({ keys: RING, name: 'tapwire', nowMs: () => nowMs }));
});

test('a pinToken names transaction, attempt and device, and expires in the second in which the wait ends', async () => {
  expect(decodeJwt(await pinTokens.issue(AWAITING))).toMatchObject({
    use: 'pin',
    sub: AWAITING.merchantId,
    txn: AWAITING.id,
    attempt: 1,
    device: AWAITING.deviceInstallationId,
    exp: START_MS / 1_000 + 90,
  });
});

test('it is valid for its transaction, and one made again differs only in the time', async () => {
  const token = await pinTokens.issue(AWAITING);
  expect(await pinTokens.check(token, AWAITING)).toBe('good');
  nowMs += 10_000;
  const again = await pinTokens.issue(AWAITING);
  expect({ ...decodeJwt(again), iat: 0 }).toEqual({ ...decodeJwt(token), iat: 0 });
});

test('the next attempt invalidates it', async () => {
  const token = await pinTokens.issue(AWAITING);
  expect(await pinTokens.check(token, { ...AWAITING, attempt: 2 })).toBe('spent');
});

test('the end of the wait invalidates it', async () => {
  const token = await pinTokens.issue(AWAITING);
  nowMs += 90_000;
  expect(await pinTokens.check(token, AWAITING)).toBe('spent');
});

test.each([
  ['another transaction', { id: '00000000-0000-4000-8000-000000000000' }],
  ['another device', { deviceInstallationId: 'device-2' }],
])('it is foreign to %s', async (_what, changes) => {
  const token = await pinTokens.issue(AWAITING);
  expect(await pinTokens.check(token, { ...AWAITING, ...changes })).toBe('foreign');
});

test.each(['', 'nonsense', 'a.b.c'])('%j is foreign', async (token) => {
  expect(await pinTokens.check(token, AWAITING)).toBe('foreign');
});

test('a token of the gateway without PIN claims is foreign', async () => {
  const tokens = new OwnTokens({ keys: RING, name: 'tapwire', nowMs: () => nowMs });
  const token = await tokens.sign('pin', { sub: '1001', jti: 'x', exp: START_MS / 1_000 + 90 });
  expect(await pinTokens.check(token, AWAITING)).toBe('foreign');
});
