import assert from 'node:assert/strict';
import { spec as type1 } from '../../processors/type-1/spec.ts';
import { Iso8583Error } from '../../src/basics/errors.ts';
import { type Codec, compileSpec } from '../../src/codecs/iso8583/codec.ts';
import { describeMessage } from '../../src/codecs/iso8583/describe.ts';
import { messageFromJson, messageToJson } from '../../src/codecs/iso8583/message-inspection.ts';
import type { Spec } from '../../src/codecs/iso8583/spec.ts';
import { datasetSpec, ebcdic, endings, packed } from '../iso8583/specs.ts';

const TARGETS: readonly { readonly spec: Spec; readonly codec: Codec<{ mti: string }> }[] = [
  ...[type1, packed, ebcdic, datasetSpec, endings].map((spec) => ({ spec, codec: compileSpec(spec as Spec) })),
];

/** Reads bytes as a message of each of five specs, which together have every encoding and composite. */
export function fuzz(data: Buffer): void {
  for (const { spec, codec } of TARGETS) {
    const message = decodeOrRefusal(spec, codec, data);
    if (message !== undefined) checkMessage(spec, codec, message, data);
  }
}

function decodeOrRefusal(spec: Spec, codec: Codec<{ mti: string }>, data: Buffer): { mti: string } | undefined {
  try {
    return codec.decode(data);
  } catch (error) {
    assert.ok(error instanceof Iso8583Error, 'an untyped error');
    assert.ok(error.offset >= 0 && error.offset <= data.length, 'an offset outside the input');
    describeMessage(spec, error.partial!);
    return undefined;
  }
}

/** A message that was read can be described, survives JSON, and is the same after it is written and read again. */
function checkMessage(spec: Spec, codec: Codec<{ mti: string }>, message: { mti: string }, data: Buffer): void {
  describeMessage(spec, message);
  describeMessage(spec, message, { unmasked: true });
  const bytes = codec.toBytes(message);
  assert.ok(bytes.length <= data.length, 'more bytes than were read');
  const json = messageToJson(spec, message, { unmasked: true });
  assert.deepEqual(messageToJson(spec, codec.decode(bytes), { unmasked: true }), json);
  assert.deepEqual(codec.toBytes(messageFromJson(spec, json)), bytes);
}
