import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ProcessorError } from '../errors.ts';
import { MODULE_EXTENSION } from '../module-extension.ts';
import { positionOf } from './error-position.ts';
import type { Processor } from './processor.ts';

/** Entry files of a plug-in, in order of preference: TypeScript in this repository, JavaScript in a package. */
const ENTRY_FILES = ['index.ts', 'index.js', 'index.mjs'];

/** Properties that a module must export to count as a processor; `defineProcessor` has checked the others. */
const REQUIRED = [
  'codec',
  'authorization',
  'reversal',
  'originalData',
  'readOutcome',
  'readRequest',
  'simulate',
] as const;

/** Location of the modules that a plug-in may import. */
const KIT_URL = new URL(`./index.${MODULE_EXTENSION}`, import.meta.url).href;
const SCHEMAS_URL = new URL('../../schemas/', import.meta.url).href;
export const BUILT_IN_FOLDER = fileURLToPath(new URL('../../processors/', import.meta.url));

export interface LoadProcessorsOptions {
  /** Paths of folders or names of packages outside the repository. */
  readonly external?: readonly string[];
  /** Base folder for paths and packages; default the current folder. */
  readonly from?: string;
}

/**
 * Loads every folder of `processors/` and the `external` plug-ins, by type.
 *
 * @throws ProcessorError `PROCESSOR_NOT_FOUND`, `PROCESSOR_BROKEN`, `PROCESSOR_INVALID` or `PROCESSOR_DUPLICATE` with
 * the
 *   file and the reason: a gateway with a missing plug-in must not start.
 */
export async function loadProcessors(options: LoadProcessorsOptions = {}): Promise<ReadonlyMap<string, Processor>> {
  const { external = [], from = '.' } = options;
  const entries = [...builtInEntries(), ...external.map((name) => findEntry(name, resolve(from)))];
  const processors = new Map<string, Processor>();
  for (const entry of entries) {
    const processor = await loadProcessor(entry);
    if (processors.has(processor.type)) {
      throw new ProcessorError(
        'PROCESSOR_DUPLICATE',
        `${entry}: another processor already has the type ${processor.type}`,
      );
    }
    processors.set(processor.type, processor);
  }
  return processors;
}

/** `type-2` precedes `type-1993`. */
const BY_NAME_AND_NUMBER = new Intl.Collator('en', { numeric: true }).compare;

/** The entry files of the folders in `processors/`, in the order of their names. */
export function builtInEntries(): string[] {
  return readdirSync(BUILT_IN_FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(BUILT_IN_FOLDER, entry.name, `index.${MODULE_EXTENSION}`))
    .sort(BY_NAME_AND_NUMBER);
}

/**
 * The entry file of a plug-in, from its path or package name.
 *
 * @throws ProcessorError `PROCESSOR_NOT_FOUND`
 */
export function findEntry(pathOrPackage: string, from: string): string {
  const path = resolve(from, pathOrPackage);
  if (existsSync(path)) return statSync(path).isDirectory() ? entryOfFolder(path) : path;
  try {
    return createRequire(join(from, 'any.js')).resolve(pathOrPackage);
  } catch {
    throw new ProcessorError(
      'PROCESSOR_NOT_FOUND',
      `${pathOrPackage}: found neither as a folder nor as a package from ${from}`,
    );
  }
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
    throw new ProcessorError('PROCESSOR_NOT_FOUND', `${folder}: contains none of ${ENTRY_FILES.join(', ')}`);
  return entry;
}

/**
 * Loads one plug-in.
 *
 * @throws ProcessorError `PROCESSOR_BROKEN` if the file cannot be imported, `PROCESSOR_INVALID` if it exports no
 * processor
 */
export async function loadProcessor(entry: string): Promise<Processor> {
  provideKit();
  let loaded: { default?: unknown };
  try {
    loaded = await import(pathToFileURL(entry).href);
  } catch (cause) {
    if (cause instanceof ProcessorError) throw new ProcessorError(cause.code, `${entry}: ${cause.reason}`, { cause });
    const reason = cause instanceof Error ? cause.message : String(cause);
    const position = cause instanceof Error ? positionOf(cause, entry) : undefined;
    throw new ProcessorError(
      'PROCESSOR_BROKEN',
      position === undefined ? `${entry}: ${reason}` : `${entry}: ${reason} (${position})`,
      { cause },
    );
  }
  const candidate = loaded.default as Partial<Processor> | undefined;
  if (candidate === undefined) throw new ProcessorError('PROCESSOR_INVALID', `${entry}: no default export`);
  const missing = REQUIRED.filter((name) => typeof candidate[name] !== 'function');
  if (typeof candidate.type !== 'string' || missing.length > 0) {
    throw new ProcessorError(
      'PROCESSOR_INVALID',
      `${entry}: not made by defineProcessor (missing: ${missing.join(', ')})`,
    );
  }
  return candidate as Processor;
}

let isKitProvided = false;

/**
 * A plug-in imports `#processor-kit` and `#schemas/*`, or the package `@tapwire/processor-kit`. Both are the kit of the
 * gateway that loads it, also if its own package.json leads to another version, for the types in an editor.
 */
function provideKit(): void {
  if (isKitProvided) return;
  isKitProvided = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const [, schema] = /^(?:#|@tapwire\/processor-kit\/)schemas\/(.*)$/.exec(specifier) ?? [];
      if (schema !== undefined) return { url: `${SCHEMAS_URL}${schema}.${MODULE_EXTENSION}`, shortCircuit: true };
      const isKit = specifier === '#processor-kit' || specifier === '@tapwire/processor-kit';
      return isKit ? { url: KIT_URL, shortCircuit: true } : nextResolve(specifier, context);
    },
  });
}
