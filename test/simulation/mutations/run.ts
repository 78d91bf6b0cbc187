import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { BrokenCopy } from './broken-copy.ts';
import { compareSearches, hunt } from './hunt.ts';
import type { Mutation, Verdict } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';

/**
 * `npm run explore -- --mutations [--only NAME]... [--workers 2]`: breaks the gateway in one place after the other,
 * each in a copy of the working tree, and verifies that it is found. Exit code 1 if a mutation survives, or its text no
 * longer exists.
 * With `--compare [--depth 4]`, the cases of each exploration are searched with and without the reduction of states,
 * and exit code 1 means that the results differ.
 */
const { values } = parseArgs({
  options: {
    mutations: { type: 'boolean' },
    compare: { type: 'boolean', default: false },
    depth: { type: 'string', default: '8' },
    only: { type: 'string', multiple: true },
    workers: { type: 'string', default: String(availableParallelism()) },
  },
});

async function judge(copy: BrokenCopy, mutation: Mutation): Promise<Verdict> {
  if (!copy.apply(mutation)) return { mutation, outcome: 'missing', evidence: mutation.file, seconds: 0 };
  const startedAtMs = Date.now();
  const look =
    values.compare && mutation.hunt.by === 'exploration'
      ? compareSearches(mutation.hunt, copy.path, Number(values.depth))
      : hunt(mutation.hunt, copy.path);
  const { isCaught, evidence } = await look;
  copy.restore(mutation);
  return { mutation, outcome: isCaught ? 'caught' : 'survived', evidence, seconds: (Date.now() - startedAtMs) / 1_000 };
}

const waiting = MUTATIONS.filter(
  ({ name, hunt: { by } }) =>
    (values.only === undefined || values.only.includes(name)) && (!values.compare || by === 'exploration'),
);
const verdicts: Verdict[] = [];
const lanes = Array.from({ length: Number(values.workers) }, async () => {
  const copy = new BrokenCopy();
  try {
    for (let mutation = waiting.shift(); mutation; mutation = waiting.shift()) {
      const verdict = await judge(copy, mutation);
      verdicts.push(verdict);
      const { outcome, seconds, evidence } = verdict;
      console.log(`${outcome.toUpperCase()} ${mutation.name}, ${seconds.toFixed(1)} s\n    ${evidence}`);
    }
  } finally {
    copy.remove();
  }
});
await Promise.all(lanes);

const others = verdicts.filter(({ outcome }) => outcome !== 'caught');
console.log(`\n${verdicts.length - others.length} of ${verdicts.length} mutations are caught`);
for (const { mutation, outcome } of others) console.log(`${outcome}: ${mutation.name} (${mutation.file})`);
process.exitCode = others.length > 0 ? 1 : 0;
