import { expect, test } from 'vitest';
import { HsmUnavailable, PinUnusable } from '../../src/errors.ts';
import { PinTranslator } from '../../src/switches/pin-translator.ts';
import type { PinTranslation } from '../../src/switches/translate-pin.ts';

const KEY = { keyId: 'zone', format: 0, derivation: 'zone' } as const;
const PIN = { block: new Uint8Array(8), ksn: new Uint8Array(10) };
const PAN = '4111111111111111';

/** An HSM whose responses a test gives. */
function heldHsm() {
  const asked: PromiseWithResolvers<{ block: Uint8Array }>[] = [];
  const translatePin = () => {
    asked.push(Promise.withResolvers());
    return asked.at(-1)!.promise;
  };
  const pins: PinTranslation = {
    hsm: { translatePin, kcv: async () => 'ABCDEF' },
    reader: { keyId: 'reader', format: 0 },
  };
  return { asked, pins };
}

function translator(limitMs: number) {
  const lines: object[] = [];
  const log = { warn: (fields: object) => void lines.push(fields) };
  const clock = { monotonicMs: () => 0 };
  return { lines, translator: new PinTranslator({ acquirerId: 1, processorId: 2, clock, log, limitMs }) };
}

test('a translation that the HSM does not finish in time fails by name, and the next one is requested', async () => {
  const { asked, pins } = heldHsm();
  const { lines, translator: pinTranslator } = translator(20);
  await expect(pinTranslator.translate(pins, KEY, PIN, PAN)).rejects.toThrow(HsmUnavailable);
  expect(lines).toEqual([{ acquirerId: 1, processorId: 2, code: 'TIMEOUT', suppressed: 0 }]);
  asked[0]!.reject(new Error('too late to matter'));

  const patient = translator(60_000).translator;
  const next = patient.translate(pins, KEY, PIN, PAN);
  asked[1]!.resolve({ block: Uint8Array.of(1) });
  expect(await next).toEqual({ block: Uint8Array.of(1) });
});

test('more than 256 at once are refused without the HSM, until others have ended', async () => {
  const { asked, pins } = heldHsm();
  const { translator: pinTranslator } = translator(60_000);
  const first = Array.from({ length: 256 }, () => pinTranslator.translate(pins, KEY, PIN, PAN));
  await expect(pinTranslator.translate(pins, KEY, PIN, PAN)).rejects.toThrow(HsmUnavailable);
  expect(asked).toHaveLength(256);
  for (const each of asked) each.resolve({ block: new Uint8Array(8) });
  await Promise.all(first);
  const again = pinTranslator.translate(pins, KEY, PIN, PAN);
  asked[256]!.resolve({ block: new Uint8Array(8) });
  await again;
});

test('an unusable PIN remains unusable', async () => {
  const { pins } = heldHsm();
  const badKsn = { ...PIN, ksn: new Uint8Array(12) };
  await expect(translator(60_000).translator.translate(pins, KEY, badKsn, PAN)).rejects.toThrow(PinUnusable);
});
