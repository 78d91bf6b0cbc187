import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../../src/codecs/bytes/hex.ts';
import { BlockKey } from '../../../src/codecs/crypto/block-key.ts';
import {
  applicationCryptogram,
  deriveCardKey,
  deriveSessionKey,
  responseCryptogram1,
  responseCryptogram2,
} from '../../../src/tools/simulator/issuer/cryptogram.ts';
import { missingModule } from '../../hsm/python.ts';
import { askPyemv, type CryptogramCase, type Cryptograms, computed, cryptogramCases } from './cryptogram-cases.ts';
import vectors from './vectors.json' with { type: 'json' };

const key = (hex: string) => new BlockKey('tdes', fromHex(hex));
const bytesOf = (derived: BlockKey) => derived.useBytes((bytes) => toHex(bytes));

test('card keys are those of the published examples, also for a hash with fewer than 16 digits', () => {
  for (const { issuerKey, pan, sequence, method, cardKey } of vectors.cardKeys)
    expect(bytesOf(deriveCardKey(key(issuerKey), pan, sequence, method as 'A' | 'B')), pan).toBe(cardKey);
});

test('session keys are those of the published examples', () => {
  for (const { cardKey, method, atc, unpredictableNumber, sessionKey } of vectors.sessionKeys) {
    const values = { atc: fromHex(atc), unpredictableNumber: fromHex(unpredictableNumber) };
    expect(bytesOf(deriveSessionKey(key(cardKey), method as 'common' | 'mchip', values))).toBe(sessionKey);
  }
});

test('the cryptograms of both sides are those of the published examples', () => {
  for (const { sessionKey, data, arqc } of vectors.cryptograms)
    expect(toHex(applicationCryptogram(key(sessionKey), fromHex(data), 2))).toBe(arqc);
  for (const { sessionKey, arqc, method, over, arpc } of vectors.responses) {
    const compute = method === 1 ? responseCryptogram1 : responseCryptogram2;
    expect(toHex(compute(key(sessionKey), fromHex(arqc), fromHex(over)))).toBe(arpc);
  }
});

const cases: readonly (CryptogramCase & Cryptograms)[] = vectors.transactions.cases as never;
const expected = cases.map(({ arqc, authenticationData }) => ({ arqc, authenticationData }));

test('the cards of every version compute what both pyemv and jPOS compute', () => {
  expect(cases.length).toBeGreaterThan(50);
  expect(cases.map(computed)).toEqual(expected);
});

const missing = await missingModule('pyemv');

test('pyemv computes the same for these and for generated cards and transactions', async ({ skip }) => {
  skip(missing !== undefined, missing);
  expect(await askPyemv(cases)).toEqual(expected);
  await fc.assert(
    fc.asyncProperty(fc.array(cryptogramCases, { minLength: 100, maxLength: 100 }), async (cases) => {
      expect(cases.map(computed)).toEqual(await askPyemv(cases));
    }),
    { numRuns: 2 },
  );
});
