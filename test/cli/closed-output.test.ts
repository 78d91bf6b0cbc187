import { spawn } from 'node:child_process';
import { once } from 'node:events';
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
