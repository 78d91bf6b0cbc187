import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const TAPWIRE = fileURLToPath(new URL('../../src/cli/tapwire.ts', import.meta.url));

/** One call of `tapwire cell move`. */
export interface Call {
  readonly isMoved: boolean;
  /** The time of each step since the beginning of the call; the last one of each name. */
  readonly steps: ReadonlyMap<string, number>;
  /** Everything that it printed. */
  readonly output: string;
}

/** Calls `tapwire cell move`, and kills it -9 when it has printed a step. */
export async function callMove(
  environment: NodeJS.ProcessEnv,
  acquirerId: number,
  to: string,
  killAt?: string,
): Promise<Call> {
  const child = spawn(process.execPath, [TAPWIRE, 'cell', 'move', '--acquirer', `${acquirerId}`, '--to', to], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const steps = new Map<string, number>();
  let output = '';
  child.stderr.on('data', (text) => {
    output += text;
  });
  const ended = once(child, 'close');
  for await (const line of createInterface({ input: child.stdout })) {
    output += `${line}\n`;
    const [, seconds, step] = /^\s*([\d.]+) s {2}(\w+)/.exec(line) ?? [];
    if (step !== undefined) steps.set(step, Number(seconds));
    if (step !== undefined && step === killAt) child.kill('SIGKILL');
  }
  const [exitCode] = await ended;
  return { isMoved: exitCode === 0, steps, output };
}
