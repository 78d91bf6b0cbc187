import { type ExecFileSyncOptions, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The class path of the compiled peer with jPOS. */
    jposClasses: string;
  }
}

const JPOS = fileURLToPath(new URL('jpos/', import.meta.url));

/**
 * Runs before the first test file: fetches jPOS from Maven Central and compiles the peer.
 *
 * @throws Error if Java or Maven is missing
 */
export function setup(project: TestProject): () => void {
  for (const [command, option] of [
    ['javac', '-version'],
    ['mvn', '--version'],
  ] as const) {
    try {
      execFileSync(command, [option], { stdio: 'ignore' });
    } catch {
      throw new Error(`test:interop needs Java 17 and Maven; "${command}" is not installed`);
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-jpos-'));
  const options: ExecFileSyncOptions = { cwd: JPOS, stdio: ['ignore', 'ignore', 'inherit'] };
  execFileSync(
    'mvn',
    ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${join(folder, 'lib')}`],
    options,
  );
  execFileSync('javac', ['-cp', join(folder, 'lib/*'), '-d', join(folder, 'classes'), 'Peer.java'], options);
  project.provide('jposClasses', `${join(folder, 'classes')}:${join(folder, 'lib/*')}`);
  return () => rmSync(folder, { recursive: true, force: true });
}
