import { parseArgs } from 'node:util';
import { Iso8583Error } from '../errors.ts';
import { compileSpec } from '../iso8583/codec.ts';
import { describeMessage, messageRows } from '../iso8583/describe.ts';
import type { Spec } from '../iso8583/spec.ts';
import { readSpec } from './processor-types.ts';
import { readHexInput } from './read-hex-input.ts';
import { flag, text } from './words.ts';

export const USAGE = 'usage: tapwire decode --spec type-1|FILE.json HEX|FILE|- [--json] [--unmasked]';

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
  const show = (message: object) => print(spec, message, values);
  try {
    show(compileSpec(spec).decode(bytes));
    return 0;
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    if (error.partial !== undefined && !values.json) show(error.partial);
    const { code, field, offset } = error;
    if (values.json) console.log(JSON.stringify({ error: { code, field, offset } }));
    else console.error(`\nDecoding stopped here: ${error.message}`);
    return 1;
  }
}

function print(spec: Spec, message: object, { json, unmasked }: { json: boolean; unmasked: boolean }): void {
  if (json) console.log(JSON.stringify(messageRows(spec, message, { unmasked }), null, 2));
  else console.log(describeMessage(spec, message, { unmasked }).join('\n'));
}
