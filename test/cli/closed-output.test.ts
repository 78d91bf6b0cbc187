import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const TAPWIRE = fileURLToPath(new URL('../../src/cli/tapwire.ts', import.meta.url));

test.each([
  ['config', '--example'],
  ['simulate', 'type-1=0', 'type-2=0'],
])('tapwire %s ends quietly when the reader of its output has left, as in | head', async (...args) => {
  const child = spawn(process.execPath, [TAPWIRE, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdout.destroy();
  const [stderr] = await Promise.all([text(child.stderr), once(child, 'close')]);
  expect({ stderr, signal: child.signalCode }).toEqual({ stderr: '', signal: null });
});

test.skipIf(!existsSync('/dev/full'))('a command whose output cannot be written fails and says so', async () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const child = spawn(process.execPath, [TAPWIRE, '--help'], { stdio: ['ignore', full, 'pipe'] });
  const [stderr] = await Promise.all([text(child.stderr!), once(child, 'close')]);
  expect({ stderr, code: child.exitCode }).toEqual({
    stderr: 'tapwire: the output could not be written (ENOSPC)\n',
    code: 1,
  });
});
