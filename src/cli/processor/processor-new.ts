import { relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { StartError } from '../../basics/errors.ts';
import { TAPWIRE_COMMAND } from '../../basics/module-extension.ts';
import { newProcessor, PROCESSORS } from '../../kits/processor-kit/load-processors.ts';
import { beginProcessorWith } from '../../tools/specs/begin-processor.ts';
import { run as writeDocs } from '../docs.ts';
import { text } from '../output.ts';
import { readSpecOf, report } from '../spec.ts';

export const USAGE = `usage: tapwire processor new NAME [--dir processors] [--spec FILE]

  --spec FILE  begin with this field table: a packager of jPOS, or another form that tapwire spec import reads

Creates the folder DIR/NAME with a processor type that passes the conformance suite.`;

/**
 * `tapwire processor new`: creates a folder with a processor that passes the conformance suite unchanged. The
 * gateway finds processors in `processors/` automatically.
 */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { dir: { ...text, default: 'processors' }, spec: text },
  });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new StartError('BAD_USAGE', USAGE);
  const imported = values.spec === undefined ? undefined : await readSpecOf(values.spec);
  const folder = newProcessor(name, resolve(values.dir));
  const misfit = imported && (await beginProcessorWith(imported.spec, folder, name));
  report(imported?.notes ?? []);
  const path = relative('.', folder);
  const isFoundByItself = relative(PROCESSORS.builtInFolder, folder) === name;
  if (isFoundByItself) await writeDocs([]);
  const named = isFoundByItself ? '' : `PROCESSORS=${path} `;
  const fit = misfit === undefined ? '' : `. Its messages do not fit it yet: ${misfit}`;
  const state =
    values.spec === undefined
      ? 'is a processor that passes the conformance suite'
      : `is a processor with the field table of ${values.spec}${fit}`;
  console.log(`${path} ${state}. The places to edit are marked EDIT. Then:

  ${TAPWIRE_COMMAND} processor verify ${path}
  ${named}${TAPWIRE_COMMAND} simulate ${name}=9101
  ${named}${TAPWIRE_COMMAND} demo --stay
`);
  return 0;
}
