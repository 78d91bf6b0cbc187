import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  createRecoveryCodes,
  createSecondFactors,
  createTotpSecret,
  encodeBase32,
  enrolmentCode,
  stepOfCode,
  totpCode,
} from '../../../src/auth/totp/second-factor.ts';

const RFC_SECRET = Buffer.from('12345678901234567890');
const NOW_MS = Date.parse('2026-03-01T12:00:10Z');
const STEP = Math.floor(NOW_MS / 30_000);

describe('a one-time code', () => {
  test.each([
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130'],
  ])('a one-time code at %i s is that of RFC 6238, appendix B', (seconds, code) => {
    expect(totpCode(RFC_SECRET, Math.floor(seconds / 30), 8)).toBe(code);
    expect(totpCode(RFC_SECRET, Math.floor(seconds / 30))).toBe(code.slice(2));
  });

  test('counts in its step and the ones beside it', () => {
    for (const [offset, found] of [
      [-2, undefined],
      [-1, STEP - 1],
      [0, STEP],
      [1, STEP + 1],
      [2, undefined],
    ] as const)
      expect(stepOfCode(RFC_SECRET, totpCode(RFC_SECRET, STEP + offset), NOW_MS), String(offset)).toBe(found);
    for (const wrong of ['', '1', '1234567', 'abcdef', '１２３４５６'])
      expect(stepOfCode(RFC_SECRET, wrong, NOW_MS)).toBeUndefined();
  });

  test('has a secret that apps read as Base32', () => {
    expect(encodeBase32(Buffer.from('foobar'))).toBe('MZXW6YTBOI');
    expect(encodeBase32(RFC_SECRET)).toBe('GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
    const { secret, size, path } = enrolmentCode('thandi@coffee.example', RFC_SECRET);
    expect(secret).toBe(encodeBase32(RFC_SECRET));
    expect(size).toBeGreaterThan(20);
    expect(path).toMatch(/^(M\d+ \d+h1v1h-1z)+$/);
  });
});

describe('a second factor', () => {
  const ringKey = { id: 'own', key: createSecretKey(randomBytes(32)) };
  const factors = createSecondFactors(
    { webhookSealing: { current: ringKey, all: [ringKey], find: () => ringKey } },
    () => NOW_MS,
  );
  const secret = createTotpSecret();
  const recovery = createRecoveryCodes();
  const stored = { secret: factors.seal('ann', Buffer.from(secret)), recoveryHashes: recovery.hashes };

  test('accepts a code and a recovery code, also in groups and in small letters', () => {
    const code = totpCode(secret, STEP);
    const proof = { kind: 'step', step: STEP };
    for (const typed of [code, ` ${code.slice(0, 3)} ${code.slice(3)} `])
      expect(factors.check('ann', stored, typed)).toEqual(proof);
    for (const [index, each] of recovery.codes.entries())
      expect(factors.check('ann', stored, each.toLowerCase())).toEqual({
        kind: 'recovery',
        codeHash: recovery.hashes[index],
      });
  });

  test('refuses other texts, and the secret of another user', () => {
    const others = createRecoveryCodes().codes[0]!;
    for (const wrong of [undefined, '', '000000x', others, recovery.codes[0]!.slice(1)])
      expect(factors.check('ann', stored, wrong), wrong).toBeUndefined();
    expect(factors.check('ann', undefined, totpCode(secret, STEP))).toBeUndefined();
    expect(factors.check(undefined, undefined, totpCode(secret, STEP))).toBeUndefined();
    expect(() => factors.check('bob', stored, totpCode(secret, STEP))).toThrow('SEAL_BROKEN');
  });

  test('has ten different recovery codes of 80 bits', () => {
    expect(new Set(recovery.codes).size).toBe(10);
    for (const code of recovery.codes) expect(code).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
  });
});
