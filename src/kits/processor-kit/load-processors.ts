import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlugInError } from '../../basics/errors.ts';
import { entriesIn, type LoadOptions, loadPlugIn, loadPlugIns, type PlugInKind } from '../plug-ins/load-plug-ins.ts';
import { missingExport, TYPE_PATTERN } from './define-processor.ts';
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

const TEMPLATE = new URL('./template/', import.meta.url);

/**
 * The ending of files that give types in an editor. The processors of this repository do not need them, and under their
 * real names they would hold for the template, too.
 */
const FOR_EDITORS = '.template';

/** The type of the template, also as a part of names. */
const TEMPLATE_TYPE = /\bacme\b/g;
const TEMPLATE_NAME = /\bAcme/g;

/**
 * Creates a folder with a working processor that passes the conformance suite. The places to edit are marked `EDIT`.
 *
 * @param type the processor's type and the name of its folder: lower case letters, digits and hyphens
 * @param parent the folder in which it is created
 * @returns the path of the new folder
 * @throws PlugInError `PLUG_IN_INVALID` if the name is not allowed, `PLUG_IN_DUPLICATE` if the folder exists
 */
export function newProcessor(type: string, parent: string): string {
  if (!TYPE_PATTERN.test(type)) {
    throw new PlugInError('PLUG_IN_INVALID', `${type}: lower case letters, digits and hyphens, at most 32`);
  }
  const folder = join(parent, type);
  if (existsSync(folder)) throw new PlugInError('PLUG_IN_DUPLICATE', `${folder} already exists`);
  if (!existsSync(parent)) mkdirSync(parent, { recursive: true });
  mkdirSync(folder); // not recursive: that never returns in a parent such as /proc, which exists and takes no folder
  const isBuiltIn = relative(PROCESSORS.builtInFolder, parent) === '';
  for (const file of readdirSync(TEMPLATE)) {
    if (isBuiltIn && file.endsWith(FOR_EDITORS)) continue;
    const text = readFileSync(new URL(file, TEMPLATE), 'utf8');
    const name = file.replace(FOR_EDITORS, '');
    writeFileSync(join(folder, name), text.replaceAll(TEMPLATE_TYPE, type).replaceAll(TEMPLATE_NAME, pascalCase(type)));
  }
  return folder;
}

function pascalCase(type: string): string {
  return type
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
