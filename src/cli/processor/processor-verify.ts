import { parseArgs } from 'node:util';
import { StartError } from '../../basics/errors.ts';
import { entryNamed } from '../../kits/plug-ins/load-plug-ins.ts';
import { processorConformance } from '../../kits/processor-kit/conformance.ts';
import { builtInEntries, loadProcessor } from '../../kits/processor-kit/load-processors.ts';
import { printResults } from '../conformance-table.ts';
import { flag } from '../output.ts';

export const USAGE = `usage: tapwire processor verify PATH|PACKAGE|TYPE [--json]

Runs the conformance suite over a processor type, and reports each check that fails.`;

/**
 * `tapwire processor verify`: runs the conformance suite over one processor and prints a table. Exit code 1 when a
 * check fails or the processor cannot be loaded.
 */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: flag },
  });
  const [name, ...more] = positionals;
  if (name === undefined || more.length > 0) throw new StartError('BAD_USAGE', USAGE);
  const entry = entryNamed(name, builtInEntries());
  const processor = await loadProcessor(entry);
  const { type, name: title } = processor;
  const results = processorConformance(processor);
  if (values.json) console.log(JSON.stringify({ type, name: title, entry, results }, null, 2));
  else printResults(`${title}, type ${type}, ${entry}`, results);
  return results.every(({ passed }) => passed) ? 0 : 1;
}
