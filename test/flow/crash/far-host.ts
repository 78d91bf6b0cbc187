import { execFileSync, spawnSync } from 'node:child_process';

/** Of this test's own network; nothing else on the machine is in 198.18.0.0/15 (RFC 2544, for tests of networks). */
const OURS = '198.18.77.1';
const THEIRS = '198.18.77.2';

/** A host next to this one, in a network namespace: its packets can vanish like those of a host without power. */
export class FarHost {
  readonly address = THEIRS;
  /** The address of this host, seen from the other one. */
  readonly ourAddress = OURS;
  readonly #name = `tapwire-${process.pid}`;

  /** Undefined if a namespace cannot be created, which requires root and iproute2. */
  static open(): FarHost | undefined {
    const host = new FarHost();
    if (spawnSync('ip', ['netns', 'add', host.#name]).status !== 0) return undefined;
    try {
      ip('link', 'add', host.#link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', host.#name);
      ip('address', 'add', `${OURS}/30`, 'dev', host.#link);
      ip('link', 'set', host.#link, 'up');
      ip('-n', host.#name, 'address', 'add', `${THEIRS}/30`, 'dev', 'eth0');
      ip('-n', host.#name, 'link', 'set', 'eth0', 'up');
      return host;
    } catch {
      host.close();
      return undefined;
    }
  }

  /** Interface names have at most 15 characters. */
  get #link(): string {
    return `tw${process.pid}`;
  }

  /** The command line that runs a program there. */
  command(program: string, args: readonly string[]): [string, string[]] {
    return ['ip', ['netns', 'exec', this.#name, program, ...args]];
  }

  /** From now on no packet is sent from there or arrives there. */
  losePower(): void {
    ip('-n', this.#name, 'link', 'set', 'eth0', 'down');
  }

  close(): void {
    spawnSync('ip', ['netns', 'delete', this.#name]);
    spawnSync('ip', ['link', 'delete', this.#link]);
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: 'pipe' });
}
