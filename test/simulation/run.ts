import { parseArgs } from 'node:util';
import { faultsOfHistory } from './history.ts';

/**
 * `npm run simulate-histories -- --histories 100000 [--first 1]`: more histories than `npm test` has time for, each with a
 * seed of its own; `--first 4711 --histories 1` replays one. Exit code 1 when one has a fault.
 */
const { values } = parseArgs({
  options: { histories: { type: 'string', default: '100000' }, first: { type: 'string', default: '1' } },
});
const [count, first] = [Number(values.histories), Number(values.first)];
const TOLD_EVERY = 10_000;

const seen = new Set<string>();
let faulty = 0;
for (let seed = first; seed < first + count; seed++) {
  const faults = await faultsOfHistory(seed, { seen });
  for (const fault of faults) console.log(`--first ${seed} --histories 1: ${fault}`);
  if (faults.length > 0) faulty++;
  const done = seed - first + 1;
  if (done % TOLD_EVERY === 0 || done === count) console.log(`${done} histories, ${faulty} with faults`);
}
console.log(`came up: ${[...seen].sort().join(', ')}`);
process.exitCode = faulty > 0 ? 1 : 0;
