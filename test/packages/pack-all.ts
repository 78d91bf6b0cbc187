import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';
import { ROOT } from '../style/source-files.ts';
import { PACKAGES } from './package-folders.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The tarballs of the packages, by name. */
    tarballs: Readonly<Record<string, string>>;
  }
}

const run = promisify(execFile);

/**
 * Runs before the first test file: makes the tarball of each package, which takes one build in each folder. Most of it is
 * the start of npm and of the compiler, so all are made at once.
 */
export async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-tarballs-'));
  const packed = Object.entries(PACKAGES).map(async ([name, path]) => [name, await pack(path, folder)] as const);
  project.provide('tarballs', Object.fromEntries(await Promise.all(packed)));
  return () => rmSync(folder, { recursive: true, force: true });
}

async function pack(path: string, folder: string): Promise<string> {
  const options = { cwd: join(ROOT, path), maxBuffer: 10_000_000 };
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], options);
  // The scripts of the package print before the JSON.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.search(/^\[/m)));
  return join(folder, filename);
}
