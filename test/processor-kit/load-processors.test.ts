import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PlugInError } from '../../src/basics/errors.ts';
import { findEntry } from '../../src/kits/plug-ins/load-plug-ins.ts';
import { builtInEntries, loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { loadOutside } from './load-outside.ts';

const TYPE_1 = new URL('../../processors/type-1/', import.meta.url).pathname;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-plug-in-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

/** Type 1 under another name: a complete processor in a few lines. */
const ACME = `
  import { defineProcessor } from '#processor-kit';
  import type1 from ${JSON.stringify(join(TYPE_1, 'index.ts'))};
  export default defineProcessor({ ...type1, type: 'acme', name: 'Acme' });
`;

test('every folder of processors/ is found and loaded under its type', async () => {
  const processors = await loadProcessors();
  expect([...processors.keys()]).toContain('type-1');
  expect(processors.size).toBe(builtInEntries().length);
});

test('a folder outside the repository is loaded from its path, and conforms', async () => {
  write('acme/index.ts', ACME);
  const { types, failed } = await loadOutside('./acme', folder);
  expect(types).toContain('acme');
  expect(failed).toEqual([]);
});

test('a package that contains JavaScript is loaded with its name', async () => {
  write(
    'node_modules/@acme/switch/package.json',
    '{ "name": "@acme/switch", "type": "module", "main": "lib/main.js" }',
  );
  write('node_modules/@acme/switch/lib/main.js', ACME);
  expect((await loadOutside('@acme/switch', folder)).types).toContain('acme');
});

test('a plug-in outside the repository can use the schemas', async () => {
  write('acme/index.ts', `${ACME}\nimport * as schemas from '#schemas/transaction'; void schemas;`);
  expect((await loadOutside('./acme', folder)).types).toContain('acme');
});

test('a plug-in that does not exist is named', () => {
  expect(() => findEntry('./nowhere', folder)).toThrow(PlugInError);
  expect(() => findEntry('@acme/none', folder)).toThrow('@acme/none: found neither as a folder nor as a package');
});

test('a folder without an entry is named', () => {
  write('empty/README.md', '');
  expect(() => findEntry('./empty', folder)).toThrow('contains none of index.ts');
});

test.each([
  ['TypeScript that does not parse', 'index.ts', 'export const a = 1;\n\nconst b: = 2;\n', 'index.ts', 3],
  ['TypeScript that Node does not strip', 'index.ts', '\nenum A { b }\n', 'index.ts', 2],
  ['JavaScript that does not parse', 'index.js', '// a\n// b\n\nconst a = ;\n', 'index.js', 4],
  ['another file that does not parse', 'index.ts', 'import "./spec.ts";\n', 'spec.ts', 2],
  ['an import that the kit does not have', 'index.ts', '\nimport { nothing } from "#processor-kit";\n', 'index.ts', 2],
  ['code that throws', 'index.ts', 'const a: any = undefined;\nexport default a.b.c;\n', 'index.ts', 2],
])('a fault in a plug-in is reported with its line: %s', async (_, entry, source, file, line) => {
  write(`acme/${entry}`, source);
  write('acme/spec.ts', '\nexport const spec = ];\n');
  const { error } = await loadOutside('./acme', folder);
  expect(error).toContain(`${join(folder, 'acme', entry)}: `);
  expect(error).toContain(`(${join(folder, 'acme', file)}:${line})`);
});

test.each([
  ['does not parse', 'export default {', 'PLUG_IN_BROKEN'],
  ['throws', 'throw new Error("no luck");', 'no luck'],
  ['imports what is not there', 'import "./missing.ts";', 'missing.ts'],
  ['exports nothing', 'export const a = 1;', 'no default export'],
  ['exports something else', 'export default { type: "acme" };', 'not made by defineProcessor'],
  ['is defined wrongly', ACME.replace("type: 'acme'", "type: 'Not A Type'"), 'PLUG_IN_INVALID'],
  [
    'has the type of another',
    ACME.replace("type: 'acme'", "type: 'type-1'"),
    'another processor already has the type type-1',
  ],
])('a plug-in that %s stops the start and is named', async (_, source, reason) => {
  write('acme/index.ts', source);
  const { error } = await loadOutside('./acme', folder);
  expect(error).toContain(join(folder, 'acme', 'index.ts'));
  expect(error).toContain(reason);
});
