import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PlugInError } from '../../basics/errors.ts';
import { positionOf } from './error-position.ts';
import { entriesIn, findEntry } from './find-entry.ts';
import { provideKits } from './provide-kits.ts';

/** A kind of plug-in: processors, reader formats. */
export interface PlugInKind<PlugIn> {
  /** In messages: `processor`. */
  readonly name: string;
  /** The function of the kit that makes one: `defineProcessor`. */
  readonly madeBy: string;
  /** The folder whose folders are always loaded. */
  readonly builtInFolder: string;
  /** What its id is called: `type`. */
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
