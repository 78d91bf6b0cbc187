import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { StartError } from '../../basics/errors.ts';
import type { CaseResult } from './run-plan.ts';

/** A run of a plan as it is stored: every result, without card data. */
export interface StoredRun {
  readonly version: 1;
  readonly id: string;
  readonly plan: { readonly name: string; readonly sha256: string; readonly cases: number };
  readonly type: string;
  /** `simulator`, or host and port. */
  readonly against: string;
  readonly startedAt: string;
  /** Of the configuration, whose keys are ids, and of the files of the processor type. */
  readonly configSha256: string;
  readonly processorSha256: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Of each case the last one, in the order of the plan. */
  results: readonly CaseResult[];
}

/** The outer form; results are those that this version has written. */
const storedRun = z.looseObject({
  version: z.literal(1),
  id: z.string(),
  plan: z.object({ name: z.string(), sha256: z.string(), cases: z.int() }),
  type: z.string(),
  results: z.array(z.looseObject({ number: z.int(), title: z.string(), passed: z.boolean() })),
});

const RUN_ID = /^[\w-]{1,80}$/;

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The stored runs of an installation: one JSON file each. */
export class StoredRuns {
  readonly #folder: string;

  /** @param folder is created on the first write */
  constructor(folder: string) {
    this.#folder = folder;
  }

  pathOf(id: string): string {
    if (!RUN_ID.test(id)) throw new StartError('BAD_CONFIG', `${id}: expected the id of a run`);
    return join(this.#folder, `${id}.json`);
  }

  /** Replaces the file as a whole, so that an interruption leaves the previous one. */
  write(run: StoredRun): void {
    mkdirSync(this.#folder, { recursive: true });
    const path = this.pathOf(run.id);
    writeFileSync(`${path}.new`, `${JSON.stringify(run, null, 2)}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  /** @throws StartError BAD_CONFIG if there is no such run, or its file is damaged */
  read(id: string): StoredRun {
    const path = this.pathOf(id);
    if (!existsSync(path))
      throw new StartError('BAD_CONFIG', `There is no run ${id}. tapwire certify runs lists them.`);
    try {
      return storedRun.parse(JSON.parse(readFileSync(path, 'utf8'))) as unknown as StoredRun;
    } catch (cause) {
      throw new StartError('BAD_CONFIG', `${path} is not a stored run.`, { cause });
    }
  }

  /** Ids, oldest first. */
  list(): string[] {
    if (!existsSync(this.#folder)) return [];
    const names = readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
    return names.map((name) => name.slice(0, -'.json'.length)).sort();
  }
}

/** Replaces the results of repeated cases, in the order of the plan. */
export function mergeResults(
  order: readonly number[],
  before: readonly CaseResult[],
  now: readonly CaseResult[],
): CaseResult[] {
  const results = new Map([...before, ...now].map((each) => [each.number, each]));
  return order.flatMap((number) => results.get(number) ?? []);
}

/** Cases whose result differs between two runs, as lines for people. */
export function compareRuns(before: StoredRun, after: StoredRun): string[] {
  const numbers = [...new Set([...before.results, ...after.results].map(({ number }) => number))].sort((a, b) => a - b);
  return numbers.flatMap((number) => {
    const [one, other] = [before, after].map(({ results }) => results.find((each) => each.number === number));
    const [was, is] = [one, other].map((each) => (each ? (each.passed ? 'passed' : 'failed') : 'not run'));
    if (was !== is) return [`case ${number}: ${was} -> ${is}  ${(other ?? one)!.title}`];
    const changed = (other?.checks ?? []).flatMap((check) => {
      const earlier = one?.checks.find(({ field }) => field === check.field);
      return earlier && earlier.passed !== check.passed
        ? [`case ${number}, ${check.field}: ${earlier.actual} -> ${check.actual}`]
        : [];
    });
    return changed;
  });
}
