import { readFileSync } from 'node:fs';
import { withoutTypes } from './module-without-types.ts';

/** The folder whose modules are served under their own paths, so that their relative imports work in a browser. */
const SOURCES = new URL('../', import.meta.url);

const IMPORT = /^(?:import|export)\s(?!type\b)[^;]*?from '(\.[^']+)'/gm;

export interface BrowserModule {
  /** Path below `src`. */
  readonly path: string;
  readonly type: string;
  readonly text: () => string;
}

/**
 * A TypeScript module of `src` and all that it imports, for browsers: the same code that runs in the gateway, without its
 * types. Each is converted when a browser first asks for it.
 *
 * @param replaced files that browsers get in place of modules that need Node
 */
export function browserModules(entry: string, replaced: Readonly<Record<string, URL>>): readonly BrowserModule[] {
  const found = new Map<string, BrowserModule>();
  const visit = (path: string) => {
    if (found.has(path)) return;
    found.set(path, moduleOf(path, replaced[path]));
    if (replaced[path] !== undefined || !path.endsWith('.ts')) return;
    const module = new URL(path, SOURCES);
    for (const [, imported] of readFileSync(module, 'utf8').matchAll(IMPORT))
      visit(new URL(imported!, module).href.slice(SOURCES.href.length));
  };
  visit(entry);
  return [...found.values()];
}

function moduleOf(path: string, replacement: URL | undefined): BrowserModule {
  const isData = path.endsWith('.json');
  let text: string | undefined;
  return {
    path,
    type: isData ? 'application/json; charset=utf-8' : 'text/javascript; charset=utf-8',
    text: () => {
      const file = replacement ?? new URL(path, SOURCES);
      text ??= replacement || isData ? readFileSync(file, 'utf8') : withoutTypes(file);
      return text;
    },
  };
}
