import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** The commands of a guide, exactly as its page shows them: every block marked `sh`. */
export function commandsOf(guide: string): string {
  const text = readFileSync(join(REPOSITORY, guide), 'utf8');
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block).join('\n');
}

/**
 * Runs commands in the folder of the repository, as a reader would, until one fails.
 *
 * @param withinMs after this time the commands are killed; processes that they left running are always killed
 */
export async function runCommands(commands: string, settings: NodeJS.ProcessEnv, withinMs: number) {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...settings };
  const shell = spawn('bash', ['-euo', 'pipefail'], { cwd: REPOSITORY, env, detached: true });
  const streams = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    shell[name].setEncoding('utf8').on('data', (text: string) => {
      streams[name] += text;
    });
  shell.stdin.end(commands);
  const timer = setTimeout(() => process.kill(-shell.pid!, 'SIGKILL'), withinMs);
  const [exitCode] = (await once(shell, 'close')) as [number | null];
  clearTimeout(timer);
  try {
    process.kill(-shell.pid!, 'SIGKILL');
  } catch {
    // No process of the group is left.
  }
  return { exitCode, ...streams };
}
