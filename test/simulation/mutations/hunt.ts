import { spawn } from 'node:child_process';
import type { Hunt } from './mutation.ts';

interface Trace {
  readonly isCaught: boolean;
  readonly evidence: string;
}

/** More than a test of every commit has time for: each guard meets rows of every kind. */
const MIRROR_WRITES = '12000';
/** Of key exchanges: some times as many as a test of every commit has time for. */
const KEY_HISTORIES = '50';
/** Longer than any hunt takes on a busy machine. */
const LONGEST_MS = 900_000;
/** How much of the output of a command is kept, from its end. */
const MAX_CHARACTERS = 200_000;

/** Searches for the fault in a copy of the gateway. */
export async function hunt(order: Hunt, path: string): Promise<Trace> {
  switch (order.by) {
    case 'exploration':
      return explore(order, path);
    case 'histories':
      return runHistories(order.count, path);
    case 'comparison with Postgres':
      return runTest('test/simulation/on-postgres/mirror.test.ts', path, { MIRROR_WRITES });
    case 'histories of keys':
      return runTest('test/simulation/on-postgres/key-exchange.test.ts', path, { KEY_HISTORIES });
    case 'test':
      return runTest(order.file, path);
  }
}

async function explore({ cases, depth }: Extract<Hunt, { by: 'exploration' }>, path: string): Promise<Trace> {
  for (const name of cases) {
    const options = ['--case', name, '--depth', String(depth), '--violations', '1', '--json'];
    const { code, text } = await run(process.execPath, ['test/simulation/explore/run.ts', ...options], path);
    const line = text.split('\n').find((each) => each.startsWith('{'));
    // A gateway that does not start proves nothing about the rules.
    if (!line) return { isCaught: false, evidence: `${code} ${lastLine(text)}` };
    const [violation] = JSON.parse(line).violations;
    if (violation)
      return { isCaught: true, evidence: `${name}: ${[...violation.history, ...violation.faults].join(' > ')}` };
  }
  return { isCaught: false, evidence: '' };
}

/** Searches a copy of the gateway with and without the reduction of states, at most so deep: both must find the same. */
export async function compareSearches(
  { cases, depth }: Extract<Hunt, { by: 'exploration' }>,
  path: string,
  mostDepth: number,
): Promise<Trace> {
  let evidence = '';
  for (const name of cases) {
    const options = ['--compare', '--case', name, '--depth', String(Math.min(depth, mostDepth))];
    const { code, text } = await run(process.execPath, ['test/simulation/explore/run.ts', ...options], path);
    evidence += text.trim();
    if (code !== 0) return { isCaught: false, evidence };
  }
  return { isCaught: true, evidence };
}

async function runHistories(count: number, path: string): Promise<Trace> {
  const options = ['--histories', String(count), '--workers', '1', '--until-fault'];
  const { text } = await run(process.execPath, ['test/simulation/run.ts', ...options], path);
  const fault = text.split('\n').find((line) => line.startsWith('--first'));
  return { isCaught: fault !== undefined, evidence: fault ?? '' };
}

async function runTest(file: string, path: string, env: NodeJS.ProcessEnv = {}): Promise<Trace> {
  const { code, text } = await run('node_modules/.bin/vitest', ['run', '--reporter=dot', '--bail=1', file], path, env);
  const failed = text.split('\n').find((line) => line.includes('FAIL') || line.includes('AssertionError'));
  return { isCaught: code !== 0 && failed !== undefined, evidence: (failed ?? lastLine(text)).trim() };
}

function run(
  command: string,
  options: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, options, { cwd, timeout: LONGEST_MS, env: { ...process.env, NO_COLOR: '1', ...env } });
    let text = '';
    const take = (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-MAX_CHARACTERS);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, text }));
  });
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
