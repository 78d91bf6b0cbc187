import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

/** Reads a TypeScript module for browsers. Stripping replaces types by spaces; this removes the spaces. */
export function withoutTypes(module: URL): string {
  const source = readFileSync(module, 'utf8');
  const { emitWarning } = process;
  // Node's warning that the function is experimental does not help an operator: the whole gateway runs on the same
  // type stripping.
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source)
      .replace(/[ \t]+$/gm, '')
      .replace(/\n{3,}/g, '\n\n');
  } finally {
    process.emitWarning = emitWarning;
  }
}
