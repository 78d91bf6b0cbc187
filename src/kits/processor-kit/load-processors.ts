import { fileURLToPath } from 'node:url';
import { entriesIn, type LoadOptions, loadPlugIn, loadPlugIns, type PlugInKind } from '../plug-ins/load-plug-ins.ts';
import { missingExport } from './kit-version.ts';
import type { Processor } from './processor.ts';

export const PROCESSORS: PlugInKind<Processor> = {
  name: 'processor',
  idName: 'type',
  madeBy: 'defineProcessor',
  builtInFolder: fileURLToPath(new URL('../../../processors/', import.meta.url)),
  idOf: ({ type }) => type,
  missingExport,
  required: ['codec', 'authorization', 'reversal', 'originalData', 'readOutcome', 'readRequest', 'simulate'],
};

/** Every folder of `processors/` and the `external` plug-ins, by type. @throws PlugInError */
export function loadProcessors(options?: LoadOptions): Promise<ReadonlyMap<string, Processor>> {
  return loadPlugIns(PROCESSORS, options);
}

/** @throws PlugInError */
export function loadProcessor(entry: string): Promise<Processor> {
  return loadPlugIn(PROCESSORS, entry);
}

/** The entry files of the folders in `processors/`. */
export function builtInEntries(): string[] {
  return entriesIn(PROCESSORS.builtInFolder);
}
