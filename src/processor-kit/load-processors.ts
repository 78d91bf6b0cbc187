import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ProcessorError } from '../errors.ts';
import type { Processor } from './processor.ts';

/** A plug-in's entry, by preference: TypeScript as written here, JavaScript as a package ships it. */
const ENTRY_FILES = ['index.ts', 'index.js', 'index.mjs'];

/** What must be there for a module to be taken for a processor; `defineProcessor` has checked the rest. */
const REQUIRED = [
  'codec',
  'authorization',
  'reversal',
  'originalData',
  'readOutcome',
  'readRequest',
  'simulate',
] as const;

/** Where the names that a plug-in may import really are. */
const KIT_URL = new URL('./index.ts', import.meta.url).href;
const SCHEMAS_URL = new URL('../../schemas/', import.meta.url).href;
export const BUILT_IN_FOLDER = fileURLToPath(new URL('../../processors/', import.meta.url));

export interface LoadProcessorsOptions {
  /** Paths of folders or names of packages outside the repository. */
  readonly external?: readonly string[];
  /** Paths and packages are looked up from here; the current folder when absent. */
  readonly from?: string;
}

/**
 * Loads every folder of `processors/` and whatever `external` names, by type.
 *
 * @throws ProcessorError `PROCESSOR_NOT_FOUND`, `PROCESSOR_BROKEN`, `PROCESSOR_INVALID` or `PROCESSOR_DUPLICATE`, naming
 *   the file and the reason: a gateway with a missing plug-in must not start.
 */
export async function loadProcessors(options: LoadProcessorsOptions = {}): Promise<ReadonlyMap<string, Processor>> {
  const { external = [], from = '.' } = options;
  const entries = [...builtInEntries(), ...external.map((name) => findEntry(name, resolve(from)))];
  const processors = new Map<string, Processor>();
  for (const entry of entries) {
    const processor = await loadProcessor(entry);
    if (processors.has(processor.type)) {
      throw new ProcessorError('PROCESSOR_DUPLICATE', `${entry}: type ${processor.type} is taken by another processor`);
    }
    processors.set(processor.type, processor);
  }
  return processors;
}

/** The entry files of the folders in `processors/`, in alphabetical order. */
export function builtInEntries(): string[] {
  return readdirSync(BUILT_IN_FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entryOfFolder(join(BUILT_IN_FOLDER, entry.name)))
    .sort();
}

/**
 * The entry file of a plug-in named by path or by package.
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
      `${pathOrPackage}: neither a folder nor a package seen from ${from}`,
    );
  }
}

function entryOfFolder(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) {
    try {
      return createRequire(join(folder, 'any.js')).resolve(folder);
    } catch {
      // No usable `main`: a package.json may be there for its type or its dependencies only.
    }
  }
  const entry = ENTRY_FILES.map((file) => join(folder, file)).find((file) => existsSync(file));
  if (entry === undefined) throw new ProcessorError('PROCESSOR_NOT_FOUND', `${folder}: no ${ENTRY_FILES.join(', ')}`);
  return entry;
}

/**
 * Loads one plug-in.
 *
 * @throws ProcessorError `PROCESSOR_BROKEN` when the file does not run, `PROCESSOR_INVALID` when it exports no processor
 */
export async function loadProcessor(entry: string): Promise<Processor> {
  provideKit();
  let loaded: { default?: unknown };
  try {
    loaded = await import(pathToFileURL(entry).href);
  } catch (cause) {
    if (cause instanceof ProcessorError) throw new ProcessorError(cause.code, `${entry}: ${cause.reason}`, { cause });
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ProcessorError('PROCESSOR_BROKEN', `${entry}: ${reason}`, { cause });
  }
  const candidate = loaded.default as Partial<Processor> | undefined;
  if (candidate === undefined) throw new ProcessorError('PROCESSOR_INVALID', `${entry}: no default export`);
  const missing = REQUIRED.filter((name) => typeof candidate[name] !== 'function');
  if (typeof candidate.type !== 'string' || missing.length > 0) {
    throw new ProcessorError('PROCESSOR_INVALID', `${entry}: not made by defineProcessor (${missing.join(', ')})`);
  }
  return candidate as Processor;
}

let isKitProvided = false;

/** Gives `#processor-kit` and `#schemas/*` to plug-ins whose own package.json does not know these names. */
function provideKit(): void {
  if (isKitProvided) return;
  isKitProvided = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier === '#processor-kit') return { url: KIT_URL, shortCircuit: true };
      if (specifier.startsWith('#schemas/')) {
        return { url: `${SCHEMAS_URL}${specifier.slice('#schemas/'.length)}.ts`, shortCircuit: true };
      }
      return nextResolve(specifier, context);
    },
  });
}
