import { type ExecFileSyncOptions, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const JPOS = fileURLToPath(new URL('jpos/', import.meta.url));

/** The command that is missing for jPOS, if one is. */
export function missingForJpos(): string | undefined {
  return ['javac', 'mvn'].find((command) => {
    try {
      execFileSync(command, ['--version'], { stdio: 'ignore' });
      return false;
    } catch {
      return true;
    }
  });
}

/** Fetches jPOS from Maven Central and compiles the peer. */
export function compileJpos(): { readonly classPath: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'tapwire-jpos-'));
  const options: ExecFileSyncOptions = { cwd: JPOS, stdio: ['ignore', 'ignore', 'inherit'] };
  const fetch = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${join(folder, 'lib')}`];
  execFileSync('mvn', fetch, options);
  execFileSync('javac', ['-cp', join(folder, 'lib/*'), '-d', join(folder, 'classes'), 'Peer.java'], options);
  return {
    classPath: `${join(folder, 'classes')}:${join(folder, 'lib/*')}`,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
