import { relative, resolve } from 'node:path';
import { PlugInError } from '../basics/errors.ts';
import { findEntry } from '../kits/plug-ins/find-entry.ts';
import { tableOf } from './table.ts';

export interface ListedPlugIns {
  /** What the id of such a plug-in is called: `type`. */
  readonly idName: string;
  readonly builtIn: readonly string[];
  /** Folders or packages outside the repository. */
  readonly external: readonly string[];
  load(entry: string): Promise<{ readonly id: string; readonly name: string }>;
}

/** Prints the plug-ins of a kind. The exit code is 1 when one of them would prevent the start; the others are still listed. */
export async function listPlugIns({ idName, builtIn, external, load }: ListedPlugIns): Promise<number> {
  const rows: string[][] = [];
  const broken: string[] = [];
  const found = [
    ...builtIn.map((entry) => () => entry),
    ...external.map((name) => () => findEntry(name, resolve('.'))),
  ];
  for (const find of found) {
    try {
      const entry = find();
      const { id, name } = await load(entry);
      if (rows.some(([taken]) => taken === id)) broken.push(`${entry}: another one already has the ${idName} ${id}`);
      else rows.push([id, name, relative('.', entry)]);
    } catch (error) {
      if (!(error instanceof PlugInError)) throw error;
      broken.push(error.reason);
    }
  }
  console.log(tableOf([[idName.toUpperCase(), 'NAME', 'FROM'], ...rows]));
  for (const reason of broken) console.error(`tapwire: ${reason}`);
  return broken.length === 0 ? 0 : 1;
}
