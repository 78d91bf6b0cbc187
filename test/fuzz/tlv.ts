import assert from 'node:assert/strict';
import { TapwireError, TlvError } from '../../src/basics/errors.ts';
import { readCard } from '../../src/codecs/emv/card.ts';
import { cryptogramType } from '../../src/codecs/emv/cryptogram.ts';
import { buildDe55, DE55_TAGS } from '../../src/codecs/emv/de55.ts';
import { describeTlv } from '../../src/codecs/emv/describe-tlv.ts';
import { parseDol } from '../../src/codecs/emv/dol.ts';
import {
  encodeTlv,
  indexTlv,
  MAX_TLV_DEPTH,
  MAX_TLV_OBJECTS,
  type TlvIndex,
  type TlvOptions,
} from '../../src/codecs/emv/tlv.ts';

/** Everything that reads a blob from an untrusted sender, with the invariants of `test/emv`. */
export function fuzz(data: Buffer): void {
  const strict = indexOrRefusal(data);
  const lenient = indexOrRefusal(data, { onBadChild: 'opaque' });
  if (strict !== undefined) assert.deepEqual(lenient?.tree(), strict.tree());
  if (lenient !== undefined) {
    checkIndex(lenient, data);
    for (const read of [readCard, cryptogramType, checkDe55]) typedOnly(() => read(lenient));
    assert.ok(describeTlv(lenient).length >= lenient.count);
    describeTlv(lenient, { unmasked: true });
  }
  typedOnly(() => parseDol(data));
}

function indexOrRefusal(data: Buffer, options?: TlvOptions): TlvIndex | undefined {
  try {
    return indexTlv(data, options);
  } catch (error) {
    assert.ok(error instanceof TlvError, 'an untyped error');
    assert.ok(error.offset >= 0 && error.offset <= data.length, 'an offset outside the input');
    return undefined;
  }
}

/** The objects that were read are within the input and the limits, and round-trip when encoded. */
function checkIndex(index: TlvIndex, data: Buffer): void {
  assert.ok(index.count <= MAX_TLV_OBJECTS);
  for (const { value, depth } of index) assert.ok(value.length <= data.length && depth <= MAX_TLV_DEPTH);
  assert.deepEqual(indexTlv(encodeTlv(index.nodes()), { onBadChild: 'opaque' }).tree(), index.tree());
}

function checkDe55(index: TlvIndex): void {
  for (const { tag, depth } of indexTlv(buildDe55(index))) assert.ok(depth === 0 && DE55_TAGS.includes(tag));
}

function typedOnly(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof TapwireError)) throw error;
  }
}
