import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from './source-files.ts';

const KNIP = join(ROOT, 'node_modules/knip/bin/knip.js');

/** A checkout with the node_modules of another one may lack it. */
test.skipIf(!existsSync(KNIP))('knip finds no file, export or dependency that is not used (knip.json)', async () => {
  const run = promisify(execFile)(process.execPath, [KNIP, '--no-progress'], { cwd: ROOT });
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  expect(stdout.trim()).toBe('');
});
