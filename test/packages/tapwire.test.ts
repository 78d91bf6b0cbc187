import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../style/source-files.ts';
import { ENVIRONMENT, install, run, tarballOf } from './installed.ts';
import { PACKAGES } from './package-folders.ts';

/** The folder of a stranger. */
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-installed-'));
  writeFileSync(join(folder, 'package.json'), '{}');
  await install(folder, tarballOf('tapwire'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tapwire = (...args: string[]) =>
  run('npx', ['tapwire', ...args], { cwd: folder, env: { ...ENVIRONMENT, PORT: '0' } });

test('needs the packages of the repository, in their versions', () => {
  const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'));
  const { version, dependencies, optionalDependencies } = read('.');
  expect(read(PACKAGES.tapwire)).toMatchObject({ version, dependencies, optionalDependencies });
});

test('runs the demo: a database, switches, taps, webhooks', async () => {
  const { stdout } = await tapwire('demo');
  expect(stdout.match(/ ok$/gm)).toHaveLength(5);
});

test('serves the pages and the modules of browsers, from several processes', async () => {
  const demo = spawn('npx', ['tapwire', 'demo', '--stay'], {
    cwd: folder,
    env: { ...ENVIRONMENT, PORT: '0', TAPWIRE_PROCESSES: '2' },
    detached: true,
  });
  const ended = new Promise((resolve) => demo.once('exit', resolve));
  onTestFinished(async () => {
    process.kill(-demo.pid!, 'SIGTERM');
    await ended;
  });
  const payLink = await textIn(demo, /^(http:\/\/127\.0\.0\.1:\d+\/\S+)$/m);
  const base = new URL(payLink).origin;
  const page = await textAt(payLink);
  const modules = [...page.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(([, path]) => path!);
  expect(modules.length).toBeGreaterThan(0);
  for (const path of [
    ...modules.map((each) => new URL(each, payLink).pathname),
    '/docs',
    '/docs/code-samples.js',
    '/ops',
    '/ops/codec/codecs/iso8583/message-inspection.ts',
    '/ops/codec/codecs/bytes/hex.ts',
  ]) {
    expect(await textAt(new URL(path, base)), path).not.toBe('');
  }
  expect(JSON.parse(await textAt(`${base}/readyz`))).toMatchObject({ status: 'ok' });
});

test('makes a processor that passes the conformance suite, with types in an editor', async () => {
  await tapwire('processor', 'new', 'north', '--dir', '.');
  const { stdout } = await tapwire('processor', 'verify', 'north');
  expect(stdout).toMatch(/\d+ checks, all passed/);
  const north = join(folder, 'north');
  // The kit from its tarball: this version is not in the registry yet.
  const manifest = JSON.parse(readFileSync(join(north, 'package.json'), 'utf8'));
  manifest.devDependencies['@tapwire/processor-kit'] = `file:${tarballOf('@tapwire/processor-kit')}`;
  writeFileSync(join(north, 'package.json'), JSON.stringify(manifest));
  await install(north);
  await run('npm', ['run', 'check'], { cwd: north });
  writeFileSync(
    join(north, 'wrong.ts'),
    `import { numeric } from '#processor-kit';\nnumeric({ name: 'stan', digits: 'six' });\n`,
  );
  await expect(run('npm', ['run', 'check'], { cwd: north })).rejects.toMatchObject({
    stdout: expect.stringContaining(`wrong.ts(2,`),
  });
  // Its own kit in node_modules is for the editor; the gateway gives it the one that it has.
  expect((await tapwire('processor', 'verify', 'north')).stdout).toMatch(/all passed/);
});

async function textAt(url: URL | string): Promise<string> {
  const response = await fetch(url);
  expect(response.status, String(url)).toBe(200);
  return response.text();
}

/** The first match in what a process prints. */
async function textIn({ stdout, stderr }: ChildProcessWithoutNullStreams, wanted: RegExp): Promise<string> {
  let text = '';
  stderr.on('data', (chunk) => {
    text += chunk;
  });
  for await (const chunk of stdout) {
    text += chunk;
    const found = wanted.exec(text)?.[1];
    if (found !== undefined) return found;
  }
  throw new Error(`the process ended: ${text}`);
}
