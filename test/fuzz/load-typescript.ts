/**
 * A module loader that hands over TypeScript with its types already stripped. Jazzer.js instruments JavaScript only, and would
 * let modules that Node strips by itself pass without counting their branches.
 */
import { readFile } from 'node:fs/promises';
import { type LoadHook, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

export const load: LoadHook = async (url, context, nextLoad) => {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const source = stripTypeScriptTypes(await readFile(fileURLToPath(url), 'utf8'));
  return { format: 'module', source, shortCircuit: true };
};
