import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../style/source-files.ts';
import { examplesOf, install, run, tarballOf } from './installed.ts';
import { PACKAGES, type PackageName } from './package-folders.ts';

const TSC = join(ROOT, 'node_modules/.bin/tsc');
const STRICT = [
  '--strict',
  '--module',
  'nodenext',
  '--target',
  'es2024',
  '--lib',
  'esnext,dom',
  '--types',
  'node',
  '--skipLibCheck',
  'false',
];

const LIBRARIES = ['@tapwire/emv-tlv', '@tapwire/iso8583', '@tapwire/processor-kit', '@tapwire/client'] as const;

/** The folder of a stranger. */
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-packages-'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  await install(folder, ...LIBRARIES.map(tarballOf), join(ROOT, 'node_modules/@types/node'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(Object.keys(PACKAGES) as PackageName[])('%s', (name) => {
  test('has nothing to fault for publint', async () => {
    const bytes = readFileSync(tarballOf(name));
    const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const { messages } = await publint({ strict: true, pack: { tarball } });
    expect(messages).toEqual([]);
  });
});

describe.each([
  '@tapwire/emv-tlv',
  '@tapwire/iso8583',
  '@tapwire/processor-kit',
  '@tapwire/client',
] as const)('%s', (name) => {
  test('gives the right types wherever ES modules are resolved', async () => {
    const checked = await checkPackage(createPackageFromTarballData(readFileSync(tarballOf(name))));
    if (!checked.types) throw new Error('no types were found');
    // CommonJS before Node 22.12, and resolution without `exports`, are not supported.
    const isUnsupported = /node10|CJSResolvesToESM/;
    const faults = checked.problems
      .map((problem) => JSON.stringify(problem))
      .filter((text) => !isUnsupported.test(text));
    expect(faults).toEqual([]);
    expect(Object.keys(checked.entrypoints)).toContain('.');
  });

  test('runs the first example of its README, which is typed', async () => {
    const [example] = examplesOf(name, 'ts');
    const file = `${name.replace('@tapwire/', '')}.ts`;
    writeFileSync(join(folder, file), example!);
    expect(await faultsOfTypes(file)).toBe('');
    if (name === '@tapwire/client') return; // needs a gateway: client.test.ts
    const { stdout } = await run(process.execPath, [file], { cwd: folder });
    const promised = [...example!.matchAll(/console\.log\(.*\/\/ ([^:\n]+)/g)].map(([, text]) => text);
    expect(promised.length).toBeGreaterThan(0);
    expect(stdout.split('\n').slice(0, promised.length)).toEqual(promised);
  });

  test('imports nothing that its manifest does not name', () => {
    const home = join(folder, 'node_modules', name);
    const { dependencies = {} } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
    const scripts = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.js'));
    const imported = scripts.flatMap((path) =>
      [...readFileSync(join(home, path), 'utf8').matchAll(/^(?:import|export) .*from '([^'.#][^']*)'/gm)].map(
        ([, from]) => from!,
      ),
    );
    const isCodec = name === '@tapwire/emv-tlv' || name === '@tapwire/iso8583';
    expect(Object.keys(dependencies)).toEqual(isCodec ? [] : ['zod']);
    expect(imported.filter((from) => !from.startsWith('node:') && !(from in dependencies))).toEqual([]);
  });
});

/** What the compiler prints about a file in the folder. */
async function faultsOfTypes(file: string): Promise<string> {
  return run(TSC, [...STRICT, '--noEmit', file], { cwd: folder }).then(
    () => '',
    ({ stdout }) => stdout,
  );
}
