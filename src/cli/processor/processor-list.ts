import { parseArgs } from 'node:util';
import { builtInEntries, loadProcessor } from '../../kits/processor-kit/load-processors.ts';
import { readProcessorNames } from '../../start/config.ts';
import { flag, idOf, text } from '../output.ts';
import { listPlugIns } from '../plug-ins.ts';
import { listOfAcquirer } from './processor-settings.ts';

/**
 * `tapwire processor list [--acquirer ID [--json]]`: the types that a gateway started here would load, those of
 * PROCESSORS included; with an acquirer, its processors.
 */
export async function run(args: string[]): Promise<number> {
  const options = { acquirer: text, json: flag };
  const { values } = parseArgs({ args, options });
  if (values.acquirer === undefined) return listTypes();
  return listOfAcquirer(idOf(values.acquirer, '--acquirer'), values.json);
}

function listTypes(): Promise<number> {
  return listPlugIns({
    idName: 'type',
    builtIn: builtInEntries(),
    external: readProcessorNames(process.env),
    load: async (entry) => {
      const { type, name } = await loadProcessor(entry);
      return { id: type, name };
    },
  });
}
