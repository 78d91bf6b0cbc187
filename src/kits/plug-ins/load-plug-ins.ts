import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire, registerHooks, stripTypeScriptTypes } from 'node:module';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { PlugInError } from '../../basics/errors.ts';
import { MODULE_EXTENSION } from '../../basics/module-extension.ts';

const JAVASCRIPT = ['.js', '.mjs'];

/**
 * File and line of an error that was thrown while a plug-in was imported, as `/path/spec.ts:12`; undefined if it cannot be
 * determined.
 *
 * @param entry the entry file of the plug-in
 */
function positionOf(error: Error, entry: string): string | undefined {
  const { stack = '' } = error;
  // For a fault that Node finds before it runs the file, the first line of the stack is the position.
  const beforeRun = /^(\S.*:\d+)$/m.exec(stack.split('\n', 1)[0]!)?.[1];
  if (beforeRun !== undefined) return pathOf(beforeRun);
  if (error instanceof SyntaxError) return positionInScripts(dirname(entry));
  const frame = /^ +at .*?(file:.*:\d+):\d+\)?$/m.exec(stack)?.[1];
  return frame === undefined ? undefined : pathOf(frame);
}

function pathOf(position: string): string {
  const [, file, line] = /^(.*):(\d+)$/.exec(position)!;
  return `${file!.startsWith('file:') ? fileURLToPath(file!) : file}:${line}`;
}

/** Of a fault in JavaScript Node states no position, so the scripts of the folder are read again as TypeScript. */
function positionInScripts(folder: string): string | undefined {
  const scripts = readdirSync(folder).filter((name) => JAVASCRIPT.includes(extname(name)));
  for (const name of scripts) {
    const path = join(folder, name);
    try {
      stripTypeScriptTypes(readFileSync(path, 'utf8'), { sourceUrl: path });
    } catch (error) {
      const line = /:(\d+)$/m.exec((error as Error).stack?.split('\n', 1)[0] ?? '')?.[1];
      if (line !== undefined) return `${path}:${line}`;
    }
  }
  return undefined;
}

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

/** Locations of the modules that a plug-in may import. */
const KITS = /^(?:#|@tapwire\/)(processor-kit|reader-kit)$/;
const SCHEMAS = /^(?:#|@tapwire\/(?:processor-kit|reader-kit)\/)schemas\/(.*)$/;

let areProvided = false;

/**
 * A plug-in imports its kit as `#processor-kit` or as the package `@tapwire/processor-kit`, and `#schemas/*`. All of them
 * are those of the gateway that loads it, also if its own package.json leads to another version, for the types in an
 * editor.
 */
function provideKits(): void {
  if (areProvided) return;
  areProvided = true;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const [, kit] = KITS.exec(specifier) ?? [];
      const [, schema] = SCHEMAS.exec(specifier) ?? [];
      const path = kit ? `../${kit}/index` : schema && `../../../schemas/${schema}`;
      if (!path) return nextResolve(specifier, context);
      return { url: new URL(`${path}.${MODULE_EXTENSION}`, import.meta.url).href, shortCircuit: true };
    },
  });
}

/** A kind of plug-in: processors, reader formats. */
export interface PlugInKind<PlugIn> {
  /** Name of the kind in messages: `processor`. */
  readonly name: string;
  /** The function of the kit that makes one: `defineProcessor`. */
  readonly madeBy: string;
  /** The folder whose folders are always loaded. */
  readonly builtInFolder: string;
  /** Name of the id: `type`. */
  readonly idName: string;
  /** The id by which settings select it. */
  readonly idOf: (plugIn: Partial<PlugIn>) => unknown;
  /** Explains an import of a name that the kit does not export; by default Node's own words. */
  readonly missingExport?: (name: string) => string;
  /** Properties that must be functions; the function that makes it has checked the others. */
  readonly required: readonly (keyof PlugIn & string)[];
}

export interface LoadOptions {
  /** Paths of folders or names of packages outside the repository. */
  readonly external?: readonly string[];
  /** Base folder for paths and packages; default the current folder. */
  readonly from?: string;
}

/**
 * Loads the built-in plug-ins of a kind and the `external` ones. The result has their ids as keys.
 *
 * @throws PlugInError `PLUG_IN_NOT_FOUND`, `PLUG_IN_BROKEN`, `PLUG_IN_INVALID` or `PLUG_IN_DUPLICATE` with the file
 *   and the reason: a gateway with a missing plug-in must not start.
 */
export async function loadPlugIns<PlugIn>(
  kind: PlugInKind<PlugIn>,
  { external = [], from = '.' }: LoadOptions = {},
): Promise<ReadonlyMap<string, PlugIn>> {
  const entries = [...entriesIn(kind.builtInFolder), ...external.map((name) => findEntry(name, resolve(from)))];
  const loaded = new Map<string, PlugIn>();
  for (const entry of entries) {
    const plugIn = await loadPlugIn(kind, entry);
    const id = kind.idOf(plugIn) as string;
    if (loaded.has(id))
      throw new PlugInError('PLUG_IN_DUPLICATE', `${entry}: another ${kind.name} already has the ${kind.idName} ${id}`);
    loaded.set(id, plugIn);
  }
  return loaded;
}

/**
 * Loads one plug-in.
 *
 * @throws PlugInError `PLUG_IN_BROKEN` if the file cannot be imported, `PLUG_IN_INVALID` if it exports no plug-in of the kind
 */
export async function loadPlugIn<PlugIn>(kind: PlugInKind<PlugIn>, entry: string): Promise<PlugIn> {
  provideKits();
  let loaded: { default?: unknown };
  try {
    loaded = await import(pathToFileURL(entry).href);
  } catch (cause) {
    if (cause instanceof PlugInError) throw new PlugInError(cause.code, `${entry}: ${cause.reason}`, { cause });
    const reason = reasonOf(kind, cause);
    const position = cause instanceof Error ? positionOf(cause, entry) : undefined;
    const where = position === undefined ? '' : ` (${position})`;
    throw new PlugInError('PLUG_IN_BROKEN', `${entry}: ${reason}${where}`, { cause });
  }
  const candidate = loaded.default as Partial<PlugIn> | undefined;
  if (candidate === undefined) throw new PlugInError('PLUG_IN_INVALID', `${entry}: no default export`);
  const missing = kind.required.filter((name) => typeof candidate[name] !== 'function');
  if (typeof kind.idOf(candidate) !== 'string' || missing.length > 0)
    throw new PlugInError('PLUG_IN_INVALID', `${entry}: not made by ${kind.madeBy} (missing: ${missing.join(', ')})`);
  return candidate as PlugIn;
}

const NOT_EXPORTED =
  /^The requested module '(?:#|@tapwire\/)(?:processor|reader)-kit' does not provide an export named '(\w+)'/;

function reasonOf({ missingExport }: Pick<PlugInKind<never>, 'missingExport'>, cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const name = NOT_EXPORTED.exec(cause.message)?.[1];
  return name === undefined ? cause.message : (missingExport?.(name) ?? cause.message);
}
