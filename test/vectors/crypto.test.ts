import { expect, test } from 'vitest';
import vectors from './crypto.json' with { type: 'json' };
import { runFile } from './crypto.ts';

const results = runFile(vectors);

test('every published cryptographic value is reproduced', () => {
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  expect(results.filter(({ outcome }) => outcome === 'passed').length).toBeGreaterThan(300);
});

test('the skipped key blocks are those of versions A, C and E', () => {
  const skipped = results.filter(({ outcome }) => outcome === 'skipped').map(({ why }) => why);
  expect(new Set(skipped)).toEqual(
    new Set(['A', 'C', 'E'].map((version) => `version ${version} is refused on purpose: B and D are taken`)),
  );
});

test('a wrong expectation is reported as a failure and does not stop the rest', () => {
  const [first, second] = runFile({
    kcv: {
      vectors: [
        { alg: 'AES', key: '00', kcv: '000000' },
        { alg: 'TDES', key: '0123456789ABCDEFFEDCBA9876543210', kcv: '08D7B4' },
      ],
    },
  });
  expect(first).toMatchObject({ outcome: 'failed' });
  expect(second).toMatchObject({ outcome: 'passed' });
});
