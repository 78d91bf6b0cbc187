import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { Iso8583Error, PlugInError, StartError } from '../basics/errors.ts';
import { parseSpec } from '../codecs/iso8583/json-spec.ts';
import type { Spec } from '../codecs/iso8583/spec.ts';
import type { ConformanceResult } from '../kits/plug-ins/check-failure.ts';
import { findEntry } from '../kits/plug-ins/load-plug-ins.ts';
import { loadProcessors } from '../kits/processor-kit/load-processors.ts';
import type { Processor } from '../kits/processor-kit/processor.ts';
import { readProcessorNames } from '../start/config.ts';
import { readJson } from './arguments.ts';
import { bad, good, tableOf } from './output.ts';

interface ListedPlugIns {
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

/**
 * The processor types that a gateway started here would load, those of PROCESSORS included. @throws PlugInError
 */
export function installedTypes(): Promise<ReadonlyMap<string, Processor>> {
  return loadProcessors({ external: readProcessorNames(process.env) });
}

/**
 * The spec that `--spec` names: a processor type (`type-1`), or a JSON file that can extend one.
 *
 * @throws StartError BAD_CONFIG when the name is unknown or the file is not a spec
 */
export async function readSpec(name: string | undefined): Promise<Spec> {
  const types = await installedTypes();
  const specOf = (type: string): Spec | undefined => types.get(type)?.spec;
  const spec = name === undefined ? undefined : specOf(name);
  if (spec) return spec;
  if (name === undefined || !existsSync(name)) {
    throw new StartError('BAD_CONFIG', `--spec: expected one of ${[...types.keys()].join(', ')}, or a JSON file`);
  }
  const given = readJson('--spec', name);
  try {
    return parseSpec(given, { find: specOf });
  } catch (error) {
    if (!(error instanceof Iso8583Error)) throw error;
    throw new StartError('BAD_CONFIG', `${name} is not a valid spec: ${error.message}`, { cause: error });
  }
}

/** Prints the results of a conformance suite, with the reason of each failure, and their number. */
export function printResults(title: string, results: readonly ConformanceResult[]): void {
  const failed = results.filter(({ passed }) => !passed).length;
  console.log(`${title}\n`);
  for (const result of results) console.log(rowOf(result));
  console.log(`\n${results.length} checks, ${failed === 0 ? good('all passed') : bad(`${failed} FAILED`)}`);
}

function rowOf({ group, check, passed, why, details = [] }: ConformanceResult): string {
  const row = `  ${passed ? good('ok    ') : bad('FAILED')}  ${group.padEnd(13)}  ${check}`;
  const indent = `\n          ${''.padEnd(13)}  `;
  return passed ? row : [row, `-> ${why}`, ...details.map((line) => `   ${line}`)].join(indent);
}
