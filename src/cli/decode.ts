import { parseArgs } from 'node:util';
import { toHex } from '../bytes/hex.ts';
import { compileSpec } from '../iso8583/codec.ts';
import { describeMessage, messageRows } from '../iso8583/describe.ts';
import { messageToJson } from '../iso8583/message-json.ts';
import type { Spec } from '../iso8583/spec.ts';
import { type Decoded, decodeCaptured } from '../iso8583/strip-frame.ts';
import { sentenceOf } from './cli-error.ts';
import { readSpec } from './processor-types.ts';
import { readHexInput } from './read-hex-input.ts';
import { flag, text } from './words.ts';

export const USAGE = `usage: tapwire decode --spec type-1|FILE.json HEX|FILE|- [--json] [--unmasked]

  --json      as a document that tapwire encode reads; without --unmasked, card data in it is null
  --unmasked  show card data

A length header and a TPDU before the message are skipped.`;

/**
 * `tapwire decode`: shows an ISO 8583 message field by field, without card data. If the message does not decode, it
 * shows the fields before the fault and the fault; the exit code is then 1.
 */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      spec: text,
      json: flag,
      unmasked: flag,
    },
  });
  const bytes = readHexInput(positionals[0], USAGE);
  const spec = await readSpec(values.spec);
  const decoded = decodeCaptured(compileSpec(spec), bytes);
  if (values.json) printJson(spec, decoded, values);
  else printText(spec, decoded, values);
  return decoded.error === undefined ? 0 : 1;
}

interface HowToShow {
  readonly unmasked: boolean;
}

/** `message` is what `tapwire encode` reads; withheld values are null in it. `fields` is for people and programs. */
function printJson(spec: Spec, { skipped, message, error }: Decoded, options: HowToShow): void {
  if (error !== undefined) {
    const { code, field, offset } = error;
    console.log(JSON.stringify({ error: { code, field, offset } }));
    return;
  }
  const document = {
    skipped: skipped.map(({ what, bytes }) => ({ what, hex: toHex(bytes) })),
    message: messageToJson(spec, message, options),
    fields: messageRows(spec, message, options),
  };
  console.log(JSON.stringify(document, null, 2));
}

function printText(spec: Spec, { skipped, message, error }: Decoded, options: HowToShow): void {
  const names = skipped.map(({ what, bytes }) => `the ${what} ${toHex(bytes)}`);
  if (names.length > 0) console.log(`Skipped ${names.join(' and ')}.\n`);
  const lines = describeMessage(spec, message ?? error?.partial ?? {}, options);
  if (lines.length > 0) console.log(lines.join('\n'));
  if (error !== undefined) console.error(`\nDecoding stopped here: ${sentenceOf(error)}`);
}
