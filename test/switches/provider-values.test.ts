import fc from 'fast-check';
import { expect, test } from 'vitest';
import { providerValues } from '../../src/switching/switches/standard-fields.ts';

test('texts are stored unchanged', () => {
  expect(providerValues(() => ({ stan: '000017', settlementDate: '' }))).toEqual({
    stan: '000017',
    settlementDate: '',
  });
});

test.each([
  ['a number', 7],
  ['nothing', undefined],
  ['an object', {}],
  ['a NUL, which no column accepts', 'a\0b'],
  ['half a character', '\ud800'],
  ['a novel', 'x'.repeat(256)],
])('a value that is not a short text is left out: %s', (_what, value) => {
  expect(providerValues(() => ({ rrn: '1', value }))).toEqual({ rrn: '1' });
});

test('the first of very many values are stored', () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`field${n}`, 'x']));
  expect(Object.keys(providerValues(() => many))).toHaveLength(32);
});

test('a plug-in that throws, or returns nothing, stores nothing: the outcome does not depend on it', () => {
  const throws = () => {
    throw new Error('no settlement date');
  };
  expect([throws, () => null, () => undefined].map(providerValues)).toEqual([{}, {}, {}]);
});

test('what is stored survives JSON and has no control character, for any values of a plug-in', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true }), (provided) => {
      const kept = providerValues(() => provided);
      expect(JSON.parse(JSON.stringify(kept))).toEqual(kept);
      expect(Object.values(kept).join('')).not.toMatch(/\p{Cc}/u);
    }),
  );
});
