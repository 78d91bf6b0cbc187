import { spawn } from 'node:child_process';
import { statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { StartError } from '../../basics/errors.ts';
import { MODULE_EXTENSION } from '../../basics/module-extension.ts';
import { findEntry } from '../../kits/plug-ins/load-plug-ins.ts';
import { untilAskedToStop } from '../process-end.ts';

export const USAGE = 'usage: tapwire processor watch PATH        until Ctrl-C';

const PROGRAM = fileURLToPath(new URL(`../tapwire.${MODULE_EXTENSION}`, import.meta.url));

/** An editor writes a file in several steps, and "save all" writes several files. */
const SETTLE_MS = 100;

/**
 * `tapwire processor watch`: runs the conformance suite whenever a file of the processor is saved. Each run has a
 * process of its own, because a module that was imported once is not read again.
 */
export async function run(args: string[]): Promise<number> {
  const { positionals } = parseArgs({ args, allowPositionals: true, options: {} });
  const [path, ...more] = positionals;
  if (path === undefined || more.length > 0) throw new StartError('BAD_USAGE', USAGE);
  const folder = resolve(path);
  findEntry(folder, '.');
  const runs = new Runs(folder);
  runs.start();
  let settling: NodeJS.Timeout | undefined;
  const watched = statSync(folder).isDirectory() ? folder : dirname(folder);
  const watcher = watch(watched, { recursive: true }, () => {
    clearTimeout(settling);
    settling = setTimeout(() => runs.start(), SETTLE_MS);
  });
  await untilAskedToStop();
  clearTimeout(settling);
  watcher.close();
  runs.stop();
  return 0;
}

/** One run at a time; a save during a run is followed by another one. */
class Runs {
  readonly #path: string;
  #stop: (() => void) | undefined;
  #isOutdated = false;
  #isStopped = false;

  constructor(path: string) {
    this.#path = path;
  }

  start(): void {
    this.#isOutdated = this.#stop !== undefined;
    if (this.#isOutdated) return;
    if (process.stdout.isTTY) console.clear();
    const child = spawn(process.execPath, [PROGRAM, 'processor', 'verify', this.#path], { stdio: 'inherit' });
    this.#stop = () => child.kill();
    child.once('exit', () => {
      this.#stop = undefined;
      if (this.#isStopped) return;
      console.log(`\nWatching ${this.#path}. Ctrl-C ends.`);
      if (this.#isOutdated) this.start();
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#stop?.();
  }
}
