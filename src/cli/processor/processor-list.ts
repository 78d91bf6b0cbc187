import { relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readProcessorNames } from '../../config.ts';
import { ProcessorError } from '../../errors.ts';
import { builtInEntries, findEntry, loadProcessor } from '../../processor-kit/load-processors.ts';
import { tableOf } from '../table.ts';
import { flag, idOf, text } from '../words.ts';
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

/** The exit code is 1 when one of them would prevent the start; the others are still listed. */
async function listTypes(): Promise<number> {
  const rows: string[][] = [];
  const broken: string[] = [];
  const external = readProcessorNames(process.env).map((name) => () => findEntry(name, resolve('.')));
  for (const find of [...builtInEntries().map((entry) => () => entry), ...external]) {
    try {
      const entry = find();
      const { type, name } = await loadProcessor(entry);
      if (rows.some(([taken]) => taken === type)) broken.push(`${entry}: another processor already has type ${type}`);
      else rows.push([type, name, relative('.', entry)]);
    } catch (error) {
      if (!(error instanceof ProcessorError)) throw error;
      broken.push(error.reason);
    }
  }
  console.log(tableOf([['TYPE', 'NAME', 'FROM'], ...rows]));
  for (const reason of broken) console.error(`tapwire: ${reason}`);
  return broken.length === 0 ? 0 : 1;
}
