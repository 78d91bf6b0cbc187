/**
 * A module loader that returns TypeScript with its types stripped. Jazzer.js instruments only JavaScript, and would not
 * count the branches of modules whose types Node strips.
 */
import { readFile } from 'node:fs/promises';
import { type LoadHook, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

export const load: LoadHook = async (url, context, nextLoad) => {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return nextLoad(url, context);
  const source = stripTypeScriptTypes(await readFile(fileURLToPath(url), 'utf8'));
  return { format: 'module', source, shortCircuit: true };
};
