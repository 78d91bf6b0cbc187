import fc from 'fast-check';
import { encodeTlv, MAX_TLV_DEPTH, MAX_TLV_OBJECTS, type TlvNode } from '../../src/codecs/emv/tlv.ts';

/** Tags of one, two and three bytes that are not padding; `constructed` sets or clears bit 6. */
function tags(constructed: boolean): fc.Arbitrary<number> {
  const first = fc.integer({ min: 0x01, max: 0xfe }).map((octet) => (constructed ? octet | 0x20 : octet & ~0x20));
  const oneByte = first.filter((octet) => octet !== 0 && (octet & 0x1f) !== 0x1f);
  const leading = fc.constantFrom(...[0x1f, 0x5f, 0x9f, 0xdf].map((octet) => (constructed ? octet | 0x20 : octet)));
  const more = fc.integer({ min: 0x00, max: 0x7f });
  const leadingNotFf = leading.filter((octet) => octet !== 0xff);
  const twoBytes = fc.tuple(leadingNotFf, more).map(([high, low]) => (high << 8) | low);
  const threeBytes = fc
    .tuple(leadingNotFf, fc.integer({ min: 0x80, max: 0xff }), more)
    .map(([high, middle, low]) => (high << 16) | (middle << 8) | low);
  const kernels = fc.constantFrom(0xff60, 0xff62, 0xff63, 0xff8101, 0xff8106);
  return constructed ? fc.oneof(oneByte, twoBytes, threeBytes, kernels) : fc.oneof(oneByte, twoBytes, threeBytes);
}

const primitive: fc.Arbitrary<TlvNode> = fc.record({
  tag: tags(false),
  value: fc.oneof(
    { weight: 9, arbitrary: fc.uint8Array({ maxLength: 40 }) },
    fc.uint8Array({ minLength: 120, maxLength: 300 }),
  ),
});

/** Objects that `encodeTlv` accepts and `indexTlv` returns, nested templates included. */
export const nodeLists: fc.Arbitrary<TlvNode[]> = fc
  .letrec<{ nodes: TlvNode[]; template: TlvNode }>((tie) => ({
    nodes: fc.array(fc.oneof({ maxDepth: MAX_TLV_DEPTH }, primitive, tie('template')), { maxLength: 6 }),
    template: fc.record({ tag: tags(true), children: tie('nodes') }),
  }))
  .nodes.filter((nodes) => countObjects(nodes) <= MAX_TLV_OBJECTS);

function countObjects(nodes: readonly TlvNode[]): number {
  return nodes.reduce((count, { children = [] }) => count + 1 + countObjects(children), 0);
}

/** Bytes that are almost TLV: a well-formed blob with a few octets changed, removed or inserted. */
const damagedBlobs: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    nodeLists.map(encodeTlv),
    fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.constantFrom('change', 'cut', 'insert')), {
      maxLength: 4,
    }),
  )
  .map(([blob, damages]) => {
    const octets = [...blob];
    for (const [at, octet, kind] of damages) {
      const position = at % (octets.length + 1);
      if (kind === 'change') octets[position] = octet;
      else if (kind === 'cut') octets.splice(position, 1 + (octet % 4));
      else octets.splice(position, 0, octet);
    }
    return Uint8Array.from(octets);
  });

/** Any bytes, or almost TLV. */
export const anyBytes: fc.Arbitrary<Uint8Array> = fc.oneof(fc.uint8Array({ maxLength: 600 }), damagedBlobs);

/** `inner` inside `depth` templates. */
export function nested(depth: number, inner: Uint8Array): Uint8Array {
  let blob = inner;
  for (let level = 0; level < depth; level++) {
    const header = blob.length < 0x80 ? [0xe1, blob.length] : [0xe1, 0x82, blob.length >> 8, blob.length & 0xff];
    blob = Uint8Array.from([...header, ...blob]);
  }
  return blob;
}
