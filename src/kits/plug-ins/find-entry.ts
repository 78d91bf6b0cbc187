import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { PlugInError } from '../../basics/errors.ts';
import { MODULE_EXTENSION } from '../../basics/module-extension.ts';

/** Entry files of a plug-in, in order of preference: TypeScript in this repository, JavaScript in a package. */
const ENTRY_FILES = ['index.ts', 'index.js', 'index.mjs'];

/** `type-2` precedes `type-1993`. */
const BY_NAME_AND_NUMBER = new Intl.Collator('en', { numeric: true }).compare;

/** The entry files of the folders in `folder`, in the order of their names. */
export function entriesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(folder, entry.name, `index.${MODULE_EXTENSION}`))
    .sort(BY_NAME_AND_NUMBER);
}

/**
 * The entry file of a plug-in, from its path or package name.
 *
 * @throws PlugInError `PLUG_IN_NOT_FOUND`
 */
export function findEntry(pathOrPackage: string, from: string): string {
  const path = resolve(from, pathOrPackage);
  if (existsSync(path)) return statSync(path).isDirectory() ? entryOfFolder(path) : path;
  try {
    return createRequire(join(from, 'any.js')).resolve(pathOrPackage);
  } catch {
    throw new PlugInError(
      'PLUG_IN_NOT_FOUND',
      `${pathOrPackage}: found neither as a folder nor as a package from ${from}`,
    );
  }
}

/** A path takes precedence, then the name of a built-in folder, then a package. @throws PlugInError */
export function entryNamed(name: string, builtIn: readonly string[]): string {
  const found = builtIn.find((entry) => basename(dirname(entry)) === name);
  return found !== undefined && !existsSync(name) ? found : findEntry(name, resolve('.'));
}

function entryOfFolder(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) {
    try {
      return createRequire(join(folder, 'any.js')).resolve(folder);
    } catch {
      // No usable `main`: the package.json may exist only for its `type` or its dependencies.
    }
  }
  const entry = ENTRY_FILES.map((file) => join(folder, file)).find((file) => existsSync(file));
  if (entry === undefined)
    throw new PlugInError('PLUG_IN_NOT_FOUND', `${folder}: contains none of ${ENTRY_FILES.join(', ')}`);
  return entry;
}
