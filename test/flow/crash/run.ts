import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** `npm run crash -- --rounds 50 --seed 1`: kills gateways at random moments under load, then compares the books. */
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '50' }, seed: { type: 'string', default: '1' } },
});
const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/flow/crash/random-kills.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, CRASH_ROUNDS: values.rounds, CRASH_SEED: values.seed },
});
process.exitCode = status ?? 1;
