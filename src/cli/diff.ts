import { parseArgs } from 'node:util';
import { Iso8583Error, sentenceOf } from '../basics/errors.ts';
import { compareMessages, type Difference } from '../codecs/iso8583/message-inspection.ts';
import { flag, text } from './output.ts';
import { readSpec } from './plug-ins.ts';
import { readHexInput } from './read-input.ts';

export const USAGE = `usage: tapwire diff --spec type-1|FILE.json A B [--json] [--unmasked]

  A, B        each is hex, a file, or - for standard input
  --unmasked  show card data

Shows where two messages differ. Exit code 0: no difference; 3: some; 1: a message cannot be decoded.`;

/**
 * `tapwire diff`: shows where two messages differ. Exit code 0 for no difference, 3 for some, 1 when one does not
 * decode.
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
  const [before, after] = [readHexInput(positionals[0], USAGE), readHexInput(positionals[1], USAGE)];
  const spec = await readSpec(values.spec);
  try {
    const differences = compareMessages(spec, before, after, values);
    console.log(values.json ? JSON.stringify(differences, null, 2) : tell(differences));
    return differences.length === 0 ? 0 : 3;
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    console.error(`One of the messages does not decode: ${sentenceOf(error)}`);
    return 1;
  }
}

function tell(differences: readonly Difference[]): string {
  if (differences.length === 0) return 'no difference';
  return differences
    .flatMap(({ path, name, before, after }) => [
      `${path}  ${name}`,
      `  - ${before?.value ?? '(absent)'}`,
      `  + ${after?.value ?? '(absent)'}`,
    ])
    .join('\n');
}
