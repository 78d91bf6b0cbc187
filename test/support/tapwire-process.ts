import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { eventually } from './eventually.ts';

const TAPWIRE = fileURLToPath(new URL('../../src/cli/tapwire.ts', import.meta.url));

/** How a command ended. */
export interface Ended {
  readonly exitCode: number | null;
  /** Both streams, in order of arrival. */
  readonly output: string;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TapwireOptions {
  /** Further environment variables besides the required ones. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  readonly cwd?: string | undefined;
}

/** The command line in its own process; it ends with the test at the latest. */
export class TapwireProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #streams = { stdout: '', stderr: '' };
  #output = '';

  constructor(args: readonly string[], { environment = {}, cwd }: TapwireOptions = {}) {
    const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...environment };
    this.#child = spawn(process.execPath, [TAPWIRE, ...args], { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#ended = once(this.#child, 'close');
    for (const name of ['stdout', 'stderr'] as const) {
      this.#child[name]!.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#streams[name] += text;
      });
    }
    onTestFinished(() => this.kill('SIGKILL').then(() => {}));
  }

  /** Runs a command to its end. */
  static run(args: readonly string[], options?: TapwireOptions): Promise<Ended> {
    return new TapwireProcess(args, options).end();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Everything printed so far, on both streams. */
  get output(): string {
    return this.#output;
  }

  /** Waits until it has printed this; returns the match. */
  printed(pattern: RegExp): Promise<RegExpExecArray> {
    return eventually(() => {
      const match = pattern.exec(this.#output);
      if (match === null) throw new Error(`not printed yet: ${pattern} in ${this.#output}`);
      return match;
    });
  }

  /** Sends a signal after which it continues. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends a signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<Ended> {
    this.#child.kill(signal);
    return this.end();
  }

  async end(): Promise<Ended> {
    await this.#ended;
    return { exitCode: this.#child.exitCode, output: this.#output, ...this.#streams };
  }
}
