import { existsSync } from 'node:fs';
import { Iso8583Error, StartError } from '../basics/errors.ts';
import { parseSpec } from '../codecs/iso8583/json-spec.ts';
import type { Spec } from '../codecs/iso8583/spec.ts';
import { loadProcessors } from '../kits/processor-kit/load-processors.ts';
import type { Processor } from '../kits/processor-kit/processor.ts';
import { readProcessorNames } from '../start/config.ts';
import { readJson } from './read-file.ts';

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
