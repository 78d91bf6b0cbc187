import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  askJpos,
  type CryptogramCase,
  type Cryptograms,
  computed,
  cryptogramCases,
} from '../simulator/issuer/cryptogram-cases.ts';
import vectors from '../simulator/issuer/vectors.json' with { type: 'json' };
import { Peer } from './peer.ts';

let peer: Peer;
beforeAll(() => {
  peer = new Peer(inject('jposClasses'));
});
afterAll(() => peer.close());

test('jPOS computes the same cryptograms for generated cards and transactions', async () => {
  await fc.assert(
    fc.asyncProperty(cryptogramCases, async (each) => {
      expect(computed(each)).toEqual(await askJpos((...words) => peer.ask(...words), each));
    }),
    { numRuns: 300 },
  );
});

test('jPOS computes the stored cryptograms, as pyemv does', async () => {
  const cases: readonly (CryptogramCase & Cryptograms)[] = vectors.transactions.cases as never;
  for (const each of cases) {
    const { arqc, authenticationData } = each;
    expect(await askJpos((...words) => peer.ask(...words), each)).toEqual({ arqc, authenticationData });
  }
});
