import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { eventually } from './eventually.ts';
import type { Installation } from './installation.ts';

const TAPWIRE = fileURLToPath(new URL('../../src/cli/tapwire.ts', import.meta.url));

/** How a command ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly output: string;
}

/** A gateway as `tapwire start` runs it, in a process of its own; gone with the test at the latest. */
export class GatewayProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = '';

  private constructor(args: readonly string[], environment: NodeJS.ProcessEnv) {
    const { PATH, HOME, TMPDIR } = process.env;
    const env = { PATH, HOME, TMPDIR, ...environment };
    this.#child = spawn(process.execPath, [TAPWIRE, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#ended = once(this.#child, 'close');
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
      });
    }
    onTestFinished(() => this.kill('SIGKILL').then(() => {}));
  }

  /** Runs a command to its end. */
  static run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<Ended> {
    return new GatewayProcess(args, environment).end();
  }

  /** Starts a gateway of an installation and waits until it is up. */
  static async start(
    installation: Installation,
    role: 'all' | 'api' | 'worker',
    settings: NodeJS.ProcessEnv = {},
  ): Promise<GatewayProcess> {
    const gateway = new GatewayProcess(['start', '--role', role], installation.environment(settings));
    await eventually(() => gateway.url);
    return gateway;
  }

  /** Everything printed so far, on both streams. */
  get output(): string {
    return this.#output;
  }

  /** Where it listens, by its own word. @throws while it is not up */
  get url(): string {
    const url = /"url":"([^"]+)"/.exec(this.#output)?.[1];
    if (url === undefined) throw new Error(`no gateway yet: ${this.#output}`);
    return url;
  }

  /** Sends a signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<Ended> {
    this.#child.kill(signal);
    return this.end();
  }

  async end(): Promise<Ended> {
    await this.#ended;
    return { exitCode: this.#child.exitCode, output: this.#output };
  }
}
