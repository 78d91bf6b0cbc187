import { spawnSync } from 'node:child_process';
import { createPublicKey, createVerify, diffieHellman, generateKeyPairSync, hash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HsmUnavailable, TokenError } from '../../../src/basics/errors.ts';
import { Token } from '../../../src/hsm-devices/pkcs11/token.ts';
import { changePin, freshSoftToken, HAS_SOFT_TOKEN, type SoftToken } from './soft-token.ts';

/** 04, x, y as a key of Node. */
function publicKeyOf(point: Uint8Array) {
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => Buffer.from(half).toString('base64url'));
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}

function freshPair() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x, y } = publicKey.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x!, 'base64url'), Buffer.from(y!, 'base64url')]);
  return { privateKey, point };
}

describe('a token that hangs', () => {
  const thread = new URL('./hanging-thread.ts', import.meta.url);
  const options = { modulePath: 'none', label: 'hanging', pin: '', limitMs: 100, thread };

  test('fails every waiting call at its limit, and the next ones at once', async () => {
    const token = new Token(options);
    const waiting = Array.from({ length: 3 }, () => token.call({ do: 'check' }));
    const results = await Promise.allSettled(waiting);
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(token.deviceStates()).toMatchObject([{ status: 'circuitOpen', failures: { TIMEOUT: 1 }, outstanding: 0 }]);
    expect(() => token.call({ do: 'check' })).toThrow(HsmUnavailable);
    expect(token.deviceStates()).toMatchObject([{ failures: { CIRCUIT_OPEN: 1 } }]);
    await token.close();
  });

  test('does not keep a process from its end', () => {
    const program = fileURLToPath(new URL('./blocked-process.ts', import.meta.url));
    const folder = mkdtempSync(join(tmpdir(), 'tapwire-token-'));
    const command = [program, join(folder, 'blocked')];
    const { stdout, stderr, signal } = spawnSync(process.execPath, command, { encoding: 'utf8', timeout: 240_000 });
    rmSync(folder, { recursive: true });
    expect({ stdout, signal }).toEqual({ stdout: 'TIMEOUT\n', signal: 'SIGKILL' });
    expect(stderr).toContain('hangs');
  });

  test('stops a process that cannot wait in the event loop only until the limit', () => {
    const token = new Token(options);
    expect(() => token.callNow({ do: 'check' })).toThrow(HsmUnavailable);
    expect(() => token.callNow({ do: 'check' })).toThrow(HsmUnavailable);
    expect(token.deviceStates()).toMatchObject([{ failures: { TIMEOUT: 1, CIRCUIT_OPEN: 1 } }]);
  });
});

test('a token that has too much to do stays in use: only the calls that it does not reach in time fail', async () => {
  const thread = new URL('./slow-thread.ts', import.meta.url);
  const token = new Token({ modulePath: 'none', label: 'slow', pin: '', limitMs: 3_000, thread });
  await token.check();
  const results = await Promise.allSettled(Array.from({ length: 200 }, () => token.call({ do: 'check' })));
  const reached = results.filter(({ status }) => status === 'fulfilled').length;
  expect(reached).toBeGreaterThan(0);
  expect(reached).toBeLessThan(200);
  expect(token.deviceStates()).toMatchObject([{ connectionsLost: 0, status: 'ready' }]);
  // The thread still has the requests whose callers wait no longer, and they count.
  const more = Array.from({ length: 512 }, async () => token.call({ do: 'check' }));
  await Promise.allSettled(more);
  expect(token.deviceStates()[0]!.failures.BUSY).toBeGreaterThan(0);
  await token.close();
});

describe.skipIf(!HAS_SOFT_TOKEN)('a token of SoftHSM', () => {
  let soft: SoftToken;
  let own: SoftToken;
  let token: Token;
  beforeAll(() => {
    [soft, own] = [freshSoftToken(), freshSoftToken()];
    token = new Token(soft);
  });
  afterAll(() => token.close());

  test('agrees on the secret that the other side computes with Node', async () => {
    const point = await token.call({ do: 'createPair', id: 'a1', label: 'card-1', use: 'agree' });
    expect(point).toHaveLength(65);
    const other = freshPair();
    const secret = await token.call({ do: 'agree', id: 'a1', point: other.point });
    const expected = diffieHellman({ privateKey: other.privateKey, publicKey: publicKeyOf(point) });
    expect(Buffer.from(secret).equals(expected)).toBe(true);
  });

  test('signs what Node verifies', async () => {
    const point = await token.call({ do: 'createPair', id: 'b2', label: 'token-1', use: 'sign' });
    const message = randomBytes(100);
    const signature = await token.call({ do: 'sign', id: 'b2', digest: hash('sha256', message, 'buffer') });
    const verifier = createVerify('sha256').update(message);
    expect(verifier.verify({ key: publicKeyOf(point), dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
  });

  test('seals and opens, and refuses a changed value', async () => {
    await token.call({ do: 'createSecret', id: 'c3', label: 'pan-1' });
    const bytes = randomBytes(32);
    const associated = Buffer.from('pan-1');
    const sealed = await token.call({ do: 'seal', id: 'c3', bytes, associated });
    expect(sealed).toHaveLength(12 + 32 + 16);
    expect(Buffer.from(await token.call({ do: 'open', id: 'c3', bytes: sealed, associated })).equals(bytes)).toBe(true);
    expect(Buffer.from(token.callNow({ do: 'open', id: 'c3', bytes: sealed, associated })).equals(bytes)).toBe(true);
    const changed = Uint8Array.from(sealed).fill(0, 20, 21);
    await expect(token.call({ do: 'open', id: 'c3', bytes: changed, associated })).rejects.toThrow(TokenError);
    await expect(token.call({ do: 'open', id: 'c3', bytes: sealed, associated: Buffer.from('pan-2') })).rejects.toThrow(
      TokenError,
    );
  });

  test('responds to waiting calls in the event loop also while another one waits without it', async () => {
    const waiting = Array.from({ length: 20 }, () => token.call({ do: 'check' }));
    expect(token.callNow({ do: 'check' }).length).toBeGreaterThan(0);
    expect((await Promise.all(waiting)).length).toBe(20);
  });

  test('refuses a key for what it was not made for, an unknown key, and a point off the curve', async () => {
    const { point } = freshPair();
    await expect(token.call({ do: 'sign', id: 'a1', digest: randomBytes(32) })).rejects.toThrow(TokenError);
    await expect(token.call({ do: 'agree', id: 'ff', point })).rejects.toMatchObject({ code: 'KEY_MISSING' });
    const off = Uint8Array.from(point);
    off[64]! ^= 1;
    await expect(token.call({ do: 'agree', id: 'a1', point: off })).rejects.toThrow(TokenError);
    expect(token.deviceStates()).toMatchObject([{ status: 'ready', name: soft.label }]);
  });

  test('is not asked again with a PIN that it has refused, because that would lock it', async () => {
    const wrong = new Token({ ...own, pin: '654321' });
    const refused = await Promise.allSettled([wrong.check(), wrong.check()]);
    expect(refused.every(({ status }) => status === 'rejected')).toBe(true);
    changePin(own, '654321');
    await expect(wrong.check()).rejects.toThrow(HsmUnavailable);
    expect(wrong.deviceStates()).toMatchObject([{ status: 'unreachable', lastFailure: 'CKR_PIN_INCORRECT' }]);
    await wrong.close();
    const restarted = new Token({ ...own, pin: '654321' });
    await restarted.check();
    await restarted.close();
  });

  test('is unreachable without its token, and says so', async () => {
    const wrong = new Token({ ...soft, label: 'nowhere' });
    await expect(wrong.check()).rejects.toThrow(HsmUnavailable);
    expect(wrong.deviceStates()).toMatchObject([{ status: 'unreachable', lastFailure: 'CKR_TOKEN_NOT_PRESENT' }]);
    await wrong.close();
  });

  test('fails at once after its thread ended, and is used again after a pause', async () => {
    const broken = new Token({ ...soft, modulePath: '/nonexistent/library.so' });
    await expect(broken.check()).rejects.toThrow(HsmUnavailable);
    await broken.close();
    await expect(async () => broken.check()).rejects.toThrow(HsmUnavailable);
  });
});
