import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * `npm run test:busy -- [--loops 3] [--script test]`: runs a suite beside busy loops and a program that writes to the disk
 * all the time. A test that depends on the speed of the machine fails here before it fails in CI.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { loops: { type: 'string' }, script: { type: 'string', default: 'test' } },
});
const loops = Number(values.loops ?? availableParallelism() + 1);
if (!Number.isInteger(loops) || loops < 0) throw new Error('--loops must be a whole number.');

const folder = mkdtempSync(join(tmpdir(), 'tapwire-busy-'));
/** Small enough for any disk. Each write waits until the disk has it. */
const WRITE = `
  const fs = require('node:fs');
  const file = fs.openSync(${JSON.stringify(join(folder, 'written'))}, 'w');
  const block = Buffer.alloc(16 << 20, 1);
  for (let n = 0; ; n++) { fs.writeSync(file, block, 0, block.length, (n % 8) * block.length); fs.fsyncSync(file); }`;

const beside: ChildProcess[] = [
  ...Array.from({ length: loops }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })),
  spawn(process.execPath, ['-e', WRITE], { stdio: 'ignore' }),
];
const end = () => {
  for (const process of beside) process.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
};
process.on('exit', end);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

const startedAtMs = performance.now();
const suite = spawn('npm', ['run', '-s', values.script, '--', ...positionals], { stdio: 'inherit' });
suite.on('exit', (code) => {
  const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
  console.log(
    `npm run ${values.script} beside ${loops} busy loops and a writing disk: exit ${code} after ${seconds} s`,
  );
  process.exit(code ?? 1);
});
