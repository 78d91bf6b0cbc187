import { fileURLToPath } from 'node:url';
import { entriesIn, type LoadOptions, loadPlugIn, loadPlugIns, type PlugInKind } from '../plug-ins/load-plug-ins.ts';
import type { ReaderFormat } from './reader-format.ts';

const READERS: PlugInKind<ReaderFormat> = {
  name: 'reader format',
  idName: 'name',
  madeBy: 'defineReader',
  builtInFolder: fileURLToPath(new URL('../../../readers/', import.meta.url)),
  idOf: ({ format }) => format,
  required: ['keysNamedBy', 'open', 'sampleReaders'],
};

/** The reader formats of an installation, by name. */
export type ReaderFormats = ReadonlyMap<string, ReaderFormat>;

/** Every folder of `readers/` and the `external` plug-ins, by name. @throws PlugInError */
export function loadReaders(options?: LoadOptions): Promise<ReaderFormats> {
  return loadPlugIns(READERS, options);
}

/** @throws PlugInError */
export function loadReader(entry: string): Promise<ReaderFormat> {
  return loadPlugIn(READERS, entry);
}

/** The entry files of the folders in `readers/`. */
export function builtInReaders(): string[] {
  return entriesIn(READERS.builtInFolder);
}
