import { parseArgs } from 'node:util';
import { Iso8583Error, StartError, sentenceOf } from '../basics/errors.ts';
import { encodeJson } from '../codecs/iso8583/message-inspection.ts';
import { flag, text } from './output.ts';
import { readSpec } from './plug-ins.ts';
import { readJson } from './read-input.ts';

export const USAGE =
  'usage: tapwire encode --spec type-1|FILE.json FILE.json|- [--json]        print the message as hex';

/**
 * `tapwire encode`: encodes a message, given as JSON by field names, as hex. Exit code 1 when it does not fit its
 * spec.
 */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { spec: text, json: flag },
  });
  const [file] = positionals;
  if (file === undefined) throw new StartError('BAD_USAGE', USAGE);
  const spec = await readSpec(values.spec);
  try {
    const hex = encodeJson(spec, readJson(undefined, file));
    console.log(values.json ? JSON.stringify({ hex, lengthBytes: hex.length / 2 }) : hex);
    return 0;
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    const { code, field } = error;
    if (values.json) console.log(JSON.stringify({ error: { code, field } }));
    else console.error(`The message cannot be encoded: ${sentenceOf(error)}${HINTS[code] ?? ''}`);
    return 1;
  }
}

const HINTS: Readonly<Partial<Record<Iso8583Error['code'], string>>> = {
  VALUE_WITHHELD: '. To encode a decoded message, decode it with --unmasked.',
};
