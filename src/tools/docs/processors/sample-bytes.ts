import { toHex } from '../../../codecs/bytes/hex.ts';
import { prefixBytesOf, replyHeaderOf, writeFraming } from '../../../codecs/iso8583/network/framing.ts';
import { type IsoMessage, isResponse } from '../../../kits/processor-kit/iso-message.ts';
import { messageCodec } from '../../../kits/processor-kit/message-codec.ts';
import type { Processor, ProcessorSample } from '../../../kits/processor-kit/processor.ts';
import { hexLines, macFunctionOf } from './example-mac.ts';
import { type WirePart, wireParts } from './wire-parts.ts';

/** Where the bytes of a line begin. */
const LABEL_CHARACTERS = 52;
const PATH_CHARACTERS = 11;
const VALUE_CHARACTERS = 20;

/** A sample with its frame header, field by field: offset, number, name, value, bytes. */
export function sampleBytes(processor: Processor, name: string): string {
  const sample = sampleOf(processor, name);
  const message = { ...sample.message };
  const frame = frameOf(processor, message);
  const parts = wireParts(processor.spec, message);
  const headerBytes = prefixBytesOf(processor.framing);
  let at = headerBytes;
  const lines = parts.flatMap((part) => {
    const from = at;
    at += part.prefix.length + part.bytes.length;
    return linesOf(part, from);
  });
  return [
    '```',
    ...hexLines('   0  frame header', frame.subarray(0, headerBytes), LABEL_CHARACTERS),
    ...lines,
    '```',
  ].join('\n');
}

/** Whole frames of samples as hex. */
export function sampleFrames(processor: Processor): string {
  const blocks = processor.samples
    .filter(({ config }) => config === undefined)
    .map(({ name, message }) => [`${name}:`, ...hexLines('', frameOf(processor, { ...message }), 0), '']);
  return ['```', ...blocks.flat().slice(0, -1), '```'].join('\n');
}

function linesOf({ path, name, prefix, bytes, value }: WirePart, at: number): string[] {
  const text = typeof value === 'string' ? value : '';
  const shown = text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS - 1)}…` : text;
  const label = `${String(at).padStart(4)}  ${path.padEnd(PATH_CHARACTERS)}${(shown === '' ? name : shown).padEnd(VALUE_CHARACTERS)}`;
  const length = prefix.length === 0 ? '' : toHex(prefix);
  return hexLines(`${label} ${length}`.trimEnd(), bytes, LABEL_CHARACTERS);
}

/** Puts a MAC into the message if every message of the type has one. A response has the addresses of its request, swapped. */
function frameOf(processor: Processor, message: IsoMessage): Uint8Array {
  const { framing, exampleConfig } = processor;
  const start = prefixBytesOf(framing);
  const frame = new Uint8Array(start + framing.maxFrameBytes);
  const codec = messageCodec(processor, exampleConfig, (_keyId, method) => macFunctionOf(method));
  const end = codec.encode(message, frame, start);
  const frameEnd = writeFraming(framing, frame, start, end);
  if (isResponse(message)) writeFraming(framing, frame, start, end, replyHeaderOf(framing, frame, start));
  return frame.subarray(0, frameEnd);
}

function sampleOf({ samples, type }: Processor, name: string): ProcessorSample {
  const sample = samples.find((each) => each.name === name);
  if (sample === undefined) throw new Error(`${type} has no sample ${name}`);
  return sample;
}
