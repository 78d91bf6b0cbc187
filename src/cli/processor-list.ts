import { relative, resolve } from 'node:path';
import { readProcessorNames } from '../config.ts';
import { ProcessorError } from '../errors.ts';
import { builtInEntries, findEntry, loadProcessor } from '../processor-kit/load-processors.ts';
import { tableOf } from './table.ts';

/**
 * `tapwire processor list`: the processors that a gateway started here would have, those of PROCESSORS included. Exit code 1
 * when one of them would stop the start.
 */
export async function run(): Promise<number> {
  const rows: string[][] = [['TYPE', 'NAME', 'FROM']];
  const broken: string[] = [];
  const names = readProcessorNames(process.env);
  const finders = [
    ...builtInEntries().map((entry) => () => entry),
    ...names.map((name) => () => findEntry(name, resolve('.'))),
  ];
  for (const find of finders) {
    try {
      const entry = find();
      const { type, name } = await loadProcessor(entry);
      if (rows.some(([taken]) => taken === type)) broken.push(`${entry}: type ${type} is taken by another processor`);
      else rows.push([type, name, relative('.', entry)]);
    } catch (error) {
      if (!(error instanceof ProcessorError)) throw error;
      broken.push(error.reason);
    }
  }
  console.log(tableOf(rows));
  for (const reason of broken) console.error(`tapwire: ${reason}`);
  return broken.length === 0 ? 0 : 1;
}
