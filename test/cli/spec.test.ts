import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tapwireHere } from '../support/run-here.ts';
import { isofield, packager } from '../tools/specs/packager.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'tapwire-cli-'));
  writeFileSync(join(cwd, 'a.xml'), packager(isofield(2, 'IFA_LLNUM', 19), isofield(4, 'IFA_NUMERIC', 12)));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const tapwire = (...args: string[]) => tapwireHere(args, {}, cwd);

const hex = (text: string) => Buffer.from(text).toString('hex');

test('an imported packager decodes a message', async () => {
  expect(await tapwire('spec', 'import', 'a.xml', '--out', 'a.json')).toMatchObject({ exitCode: 0, stdout: '' });
  const wire = `${hex('0100')}5000000000000000${hex('0212000000001000')}`;
  const decoded = await tapwire('decode', '--spec', 'a.json', wire, '--unmasked');
  expect(decoded).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('000000001000') });
});

test('an import that cannot be expressed writes nothing and lists the faults', async () => {
  writeFileSync(join(cwd, 'b.xml'), packager(isofield(2, 'IFX_NEW', 4)));
  const { exitCode, stdout, stderr } = await tapwire('spec', 'import', 'b.xml');
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toContain('b.xml:4: field 2, class IFX_NEW: an unknown class');
});

test('an import to TypeScript is a spec of a processor', async () => {
  const { stdout } = await tapwire('spec', 'import', 'a.xml', '--format', 'typescript');
  expect(stdout).toContain("    4: numeric({ name: 'field4', title: 'Field 4', digits: 12 }),");
  expect(stdout).toContain("} from '#processor-kit';");
});

test('an exported packager has no difference to the file that it was read from', async () => {
  expect(await tapwire('spec', 'export', 'a.xml', '--as', 'jpos', '--out', 'again.xml')).toMatchObject({ exitCode: 0 });
  expect(await tapwire('spec', 'diff', 'a.xml', 'again.xml')).toMatchObject({ exitCode: 0, stdout: 'no difference\n' });
  expect(await tapwire('spec', 'export', 'a.xml', '--as', 'moov', '--out', 'again.json')).toMatchObject({
    exitCode: 0,
  });
  expect(await tapwire('spec', 'diff', 'a.xml', 'again.json')).toMatchObject({
    exitCode: 1,
    stdout: '2  content: n -> any\n4  content: n -> any\n',
  });
});

test('a comparison with a processor type names the differences and exits with 1', async () => {
  const { exitCode, stdout } = await tapwire('spec', 'diff', 'a.xml', 'type-1', '--json');
  expect(exitCode).toBe(1);
  expect(JSON.parse(stdout)).toContainEqual({ field: '3', property: 'field', after: 'n' });
});

test.each([
  ['import', []],
  ['import', ['a.xml', '--format', 'yaml']],
  ['export', ['a.xml', '--as', 'xml']],
  ['diff', ['a.xml']],
])('wrong arguments of spec %s %j show how to use it', async (name, args) => {
  expect(await tapwire('spec', name, ...args)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('usage: tapwire spec'),
  });
});

test('a new processor begins with an imported spec, and names a message that does not fit it', async () => {
  const { exitCode, stdout } = await tapwire('processor', 'new', 'north-bank', '--dir', '.', '--spec', 'a.xml');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('Its messages do not fit it yet: ');
  expect(readFileSync(join(cwd, 'north-bank', 'spec.ts'), 'utf8')).toContain("2: numeric({ name: 'pan'");
});
