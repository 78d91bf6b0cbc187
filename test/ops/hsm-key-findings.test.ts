import { expect, test } from 'vitest';
import { CryptoError, HsmUnavailable } from '../../src/basics/errors.ts';
import type { RegisteredKey } from '../../src/store/switches/hsm-keys.ts';
import { hsmKeyFindings, namedKeyFindings } from '../../src/tools/doctor/key-findings.ts';

const NOW_MS = Date.parse('2026-11-23T12:00:00Z');
const KEY: RegisteredKey = {
  ...{ keyId: 'acquirer/1/mac', acquirerId: 1, usage: 'mac', kcv: '08D7B4', createdAt: '2026-01-01T00:00:00.000Z' },
  ...{ dueOn: '2027-11-23', lastUsedOn: null, successor: null, overlapEndsAt: null, retiredAt: null },
};

const findings = (changes: Partial<RegisteredKey>, kcvOf: () => Promise<string> = async () => '08D7B4') =>
  hsmKeyFindings([{ ...KEY, ...changes }], kcvOf, NOW_MS);

test.each<[string, Partial<RegisteredKey>, object]>([
  ['a key whose day is far', {}, { verdict: 'good' }],
  ['a key that is due soon', { dueOn: '2026-12-01' }, { verdict: 'warning', description: 'is due in 8 days' }],
  ['a key that is due', { dueOn: '2026-11-23' }, { verdict: 'warning', description: 'has been due since 2026-11-23' }],
  [
    'a key whose overlap is over',
    { successor: 'next', overlapEndsAt: '2026-11-23T11:00:00.000Z' },
    { verdict: 'warning', advice: 'run tapwire hsm retire acquirer/1/mac' },
  ],
  [
    'a key that the HSM has with another value',
    { kcv: '000000' },
    { verdict: 'fault', part: 'hsm key acquirer/1/mac' },
  ],
])('%s', async (_what, changes, finding) => {
  expect(await findings(changes)).toEqual([expect.objectContaining(finding)]);
});

test('a retired key is not examined, and a replaced one is not due', async () => {
  expect(await findings({ retiredAt: '2026-11-01T00:00:00.000Z', dueOn: '2026-11-01' })).toEqual([]);
  const replaced = { dueOn: '2026-11-01', successor: 'next', overlapEndsAt: '2026-11-24T00:00:00.000Z' };
  expect(await findings(replaced)).toEqual([expect.objectContaining({ verdict: 'good' })]);
});

test('a key that the HSM does not have is a fault, an HSM that does not respond is no fault of the key', async () => {
  const missing = await findings({}, () => Promise.reject(new CryptoError('KEY_UNKNOWN')));
  expect(missing).toEqual([expect.objectContaining({ verdict: 'fault', description: 'cannot be used (KEY_UNKNOWN)' })]);
  const unavailable = await findings({}, () => Promise.reject(new HsmUnavailable()));
  expect(unavailable).toEqual([expect.objectContaining({ verdict: 'good' })]);
});

test('a key that a processor names and the HSM has lost is a fault, registered or not', async () => {
  const named = [
    { keyId: 'acquirer/1/mac', namedBy: 'processor 1 of acquirer 1 (macKeys.0.keyId)' },
    { keyId: 'acquirer/1/zpk', namedBy: 'processor 1 of acquirer 1 (pinKey.keyId)' },
  ];
  const kcvOf = async (keyId: string) => {
    if (keyId.endsWith('zpk')) throw new CryptoError('KEY_UNKNOWN');
    return '08D7B4';
  };
  expect(await namedKeyFindings(named, kcvOf)).toEqual([
    expect.objectContaining({
      verdict: 'fault',
      part: 'processor 1 of acquirer 1 (pinKey.keyId)',
      description: 'the HSM cannot use its key acquirer/1/zpk (KEY_UNKNOWN)',
    }),
  ]);
  expect(await namedKeyFindings(named.slice(0, 1), kcvOf)).toEqual([expect.objectContaining({ verdict: 'good' })]);
  expect(await namedKeyFindings(named, () => Promise.reject(new HsmUnavailable()))).toEqual([]);
});
