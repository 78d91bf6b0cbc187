import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TlvError } from '../../src/basics/errors.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { encodeTlv, indexTlv, MAX_TLV_DEPTH, type TlvOptions, tagText } from '../../src/codecs/emv/tlv.ts';
import { anyBytes, nested, nodeLists } from './tlv-arbitraries.ts';

/** How often bytes of the input are read while it is indexed: the work, counted without a clock. */
function readsOf(bytes: Uint8Array, options: TlvOptions): number {
  let reads = 0;
  const counted = new Proxy(bytes, {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads++;
      return Reflect.get(target, key, target);
    },
  });
  try {
    indexTlv(counted, options);
  } catch (error) {
    if (!(error instanceof TlvError)) throw error;
  }
  return reads;
}

/** Padding test, tag, length, and the same again to explain a refusal. */
const MAX_READS_A_BYTE = 8;

const modes = fc.constantFrom<TlvOptions>({}, { onBadChild: 'opaque' });

test('encoding round-trips: tags, values, order, duplicates, nesting', () => {
  fc.assert(
    fc.property(nodeLists, (nodes) => {
      expect(indexTlv(encodeTlv(nodes)).nodes()).toEqual(nodes);
    }),
  );
});

test('any bytes give an index or a TlvError whose offset is inside the input', () => {
  fc.assert(
    fc.property(anyBytes, modes, (bytes, options) => {
      try {
        for (const { value, depth } of indexTlv(bytes, options)) {
          expect(value.length).toBeLessThanOrEqual(bytes.length);
          expect(depth).toBeLessThanOrEqual(MAX_TLV_DEPTH);
        }
      } catch (error) {
        if (!(error instanceof TlvError)) throw error;
        expect(error.offset).toBeGreaterThanOrEqual(0);
        expect(error.offset).toBeLessThanOrEqual(bytes.length);
      }
    }),
    { numRuns: 1000 },
  );
});

test('what opaque mode reads is encoded and read back unchanged', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      try {
        const read = indexTlv(bytes, { onBadChild: 'opaque' });
        const again = indexTlv(encodeTlv(read.nodes()), { onBadChild: 'opaque' });
        expect(again.tree()).toEqual(read.tree());
      } catch (error) {
        if (!(error instanceof TlvError)) throw error;
      }
    }),
  );
});

test('texts are the objects in hex, one after the other', () => {
  fc.assert(
    fc.property(nodeLists, (nodes) => {
      const index = indexTlv(encodeTlv(nodes));
      const objects = [...index].map(({ tag, value }) => ({ tag: tagText(tag), value: toHex(value) }));
      expect(index.texts()).toEqual(objects);
    }),
  );
});

test('a prefix is refused, or ends between two objects', () => {
  fc.assert(
    fc.property(nodeLists, (nodes) => {
      const bytes = encodeTlv(nodes);
      const whole = indexTlv(bytes).tree();
      for (let length = 0; length < bytes.length; length++) {
        try {
          const part = indexTlv(bytes.subarray(0, length)).tree();
          expect(part).toEqual(whole.slice(0, part.length));
        } catch (error) {
          if (!(error instanceof TlvError)) throw error;
          expect(error.offset).toBeLessThanOrEqual(length);
        }
      }
    }),
    { numRuns: 40 },
  );
});

test('the work is linear in the input: no byte is read more than a few times', () => {
  fc.assert(
    fc.property(anyBytes, modes, (bytes, options) => {
      expect(readsOf(bytes, options)).toBeLessThanOrEqual(MAX_READS_A_BYTE * bytes.length);
    }),
  );
});

test.each([
  ['only padding', new Uint8Array(20_000)],
  ['templates that all turn out bad', fromHex('7103112233'.repeat(200))],
  ['a bad template at every depth', nested(MAX_TLV_DEPTH, fromHex('7103112233'.repeat(20)))],
  ['FF before everything that could be a tag', fromHex('FF8100'.repeat(100))],
])('the work is linear in the input for %s', (_, bytes) => {
  expect(readsOf(bytes, { onBadChild: 'opaque' })).toBeLessThanOrEqual(MAX_READS_A_BYTE * bytes.length);
});
