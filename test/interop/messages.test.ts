import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type1 from '../../processors/type-1/index.ts';
import type2 from '../../processors/type-2/index.ts';
import type1993 from '../../processors/type-1993/index.ts';
import { fromHex, toHex } from '../../src/codecs/bytes/hex.ts';
import { compileSpec } from '../../src/codecs/iso8583/codec.ts';
import type { Spec } from '../../src/codecs/iso8583/spec.ts';
import { messages } from '../iso8583/message-arbitrary.ts';
import { Peer } from './peer.ts';

let peer: Peer;
beforeAll(() => {
  peer = new Peer(inject('jposClasses'));
});
afterAll(() => peer.close());

/** 127.19 has another length in jPOS. */
const OTHERWISE_IN_JPOS = [19];

/** jPOS knows DE127 of type 1 up to 127.25. */
function knownToJpos({ fields, ...spec }: Spec): Spec {
  const { 127: switchData } = fields;
  if (switchData?.kind !== 'bitmapped') return { fields, ...spec };
  const known = Object.entries(switchData.fields).filter(
    ([number]) => Number(number) <= 25 && !OTHERWISE_IN_JPOS.includes(Number(number)),
  );
  return { ...spec, fields: { ...fields, 127: { ...switchData, fields: Object.fromEntries(known) } } };
}

/** Messages without the composites that have no field, of which jPOS writes no bitmap. */
const withFields = (spec: Spec) =>
  messages(spec).filter((message) => {
    const composites = [message, ...Object.values(message).filter(isComposite)];
    return composites.every((fields) => Object.keys(fields).some((name) => name !== 'mti'));
  });

const isComposite = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof Uint8Array);

describe.each(
  [type1, type2, type1993].map((processor) => [processor.type, processor] as const),
)('%s', (type, processor) => {
  test('jPOS reads each sample and packs it to the same bytes', async () => {
    for (const { name, wireHex } of processor.samples)
      expect(await peer.repack(type, fromHex(wireHex)), name).toBe(wireHex);
  });

  test('jPOS reads a thousand generated messages and packs them to the same bytes', async () => {
    const spec = knownToJpos(processor.spec);
    const codec = compileSpec(processor.spec);
    await fc.assert(
      fc.asyncProperty(withFields(spec), async (message) => {
        const bytes = codec.toBytes(message as never);
        expect(await peer.repack(type, bytes)).toBe(toHex(bytes));
      }),
      { numRuns: 1_000 },
    );
  });
});
