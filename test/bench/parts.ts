/** The parts of a benchmark: processes on free ports, each ended with the benchmark. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Starts a part in its own process; returns its id and the first line of its output that contains `says`. */
export async function startProcess(
  closers: (() => unknown)[],
  args: string[],
  environment: object,
  description: string,
): Promise<{ line: string; pid: number }> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  closers.push(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  for await (const line of createInterface(child.stdout)) {
    if (!line.includes(description)) continue;
    child.stdout.resume();
    return { line, pid: child.pid! };
  }
  throw new Error(`${args.join(' ')} ended before it was up`);
}

/** Resolves when it is signed on to a switch. */
export async function untilReady(port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    const body = (await response?.json().catch(() => undefined)) as { switches?: Record<string, string> } | undefined;
    if (Object.values(body?.switches ?? {}).includes('ready')) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('The gateway did not become ready');
}
