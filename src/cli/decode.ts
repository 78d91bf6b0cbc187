import { parseArgs } from 'node:util';
import { sentenceOf } from '../basics/errors.ts';
import { linesOf } from '../codecs/iso8583/describe.ts';
import { type ReadMessage, readMessage } from '../codecs/iso8583/message-inspection.ts';
import { flag, text } from './output.ts';
import { readSpec } from './plug-ins.ts';
import { readHexInput } from './read-input.ts';

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
  const decoded = readMessage(spec, bytes, values);
  if (values.json) printJson(decoded);
  else printText(decoded);
  return decoded.error === undefined ? 0 : 1;
}

function printJson({ skipped, message, fields, error }: ReadMessage): void {
  if (error !== undefined) {
    const { code, field, offset } = error;
    console.log(JSON.stringify({ error: { code, field, offset } }));
    return;
  }
  console.log(JSON.stringify({ skipped, message, fields }, null, 2));
}

function printText({ skipped, fields, error }: ReadMessage): void {
  const names = skipped.map(({ what, hex }) => `the ${what} ${hex}`);
  if (names.length > 0) console.log(`Skipped ${names.join(' and ')}.\n`);
  const lines = linesOf(fields);
  if (lines.length > 0) console.log(lines.join('\n'));
  if (error !== undefined) console.error(`\nDecoding stopped here: ${sentenceOf(error)}`);
}
