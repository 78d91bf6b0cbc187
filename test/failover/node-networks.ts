import { execFileSync, spawnSync } from 'node:child_process';

/** Networks for tests (RFC 2544); test/flow/crash/far-host.ts uses 198.18.77.0/24. */
const NETWORK = '198.18.78';
const GATEWAYS = `${NETWORK}.1`;

/**
 * Three hosts in network namespaces, on one bridge with this machine. A host can be cut off: packets in both directions
 * then vanish, as from a switch port that was unplugged, and no connection is closed.
 */
export class NodeNetworks {
  readonly #bridge = `twb${process.pid}`;
  readonly names = [1, 2, 3].map((n) => `tw${process.pid}n${n}`);
  readonly addresses = [11, 12, 13].map((host) => `${NETWORK}.${host}`);

  /** @throws if this process may not make them: that needs root, CAP_NET_ADMIN and iproute2 */
  static open(): NodeNetworks {
    const networks = new NodeNetworks();
    try {
      networks.#make();
      return networks;
    } catch (error) {
      networks.close();
      throw error;
    }
  }

  #make(): void {
    const bridge = this.#bridge;
    ip('link', 'add', bridge, 'type', 'bridge');
    ip('address', 'add', `${GATEWAYS}/24`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    for (const [index, name] of this.names.entries()) {
      ip('netns', 'add', name);
      ip('link', 'add', this.#link(index), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', this.#link(index), 'master', bridge, 'up');
      ip('-n', name, 'address', 'add', `${this.addresses[index]}/24`, 'dev', 'eth0');
      ip('-n', name, 'link', 'set', 'eth0', 'up');
      ip('-n', name, 'link', 'set', 'lo', 'up');
    }
  }

  /** Interface names have at most 15 characters. */
  #link(index: number): string {
    return `tw${process.pid}v${index + 1}`;
  }

  cut(index: number): void {
    ip('link', 'set', this.#link(index), 'nomaster');
  }

  join(index: number): void {
    ip('link', 'set', this.#link(index), 'master', this.#bridge);
  }

  /** Every process of a host. */
  processes(index: number): number[] {
    const listed = execFileSync('ip', ['netns', 'pids', this.names[index]!]).toString();
    return listed.split('\n').filter(Boolean).map(Number);
  }

  close(): void {
    for (const name of this.names) spawnSync('ip', ['netns', 'delete', name]);
    for (const [index] of this.names.entries()) spawnSync('ip', ['link', 'delete', this.#link(index)]);
    spawnSync('ip', ['link', 'delete', this.#bridge]);
  }
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: 'pipe' });
}
