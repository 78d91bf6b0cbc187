import { execFileSync, spawnSync } from 'node:child_process';

/** Networks for tests (RFC 2544); test/flow/crash/far-host.ts uses 198.18.77.0/24. */
const NETWORK = '198.18.78';
const GATEWAYS = `${NETWORK}.1`;
/** Flags of a port of a bridge: what is sent to it without its address being known there. */
const FLOODS = ['flood', 'mcast_flood', 'bcast_flood'];

/** `both` as from a switch port that was unplugged, one direction as from a broken fibre or a faulty firewall rule. */
export type CutDirection = 'both' | 'toNode' | 'fromNode';

/**
 * Three hosts in network namespaces, on one bridge with this machine. A host can be cut off: packets in both directions,
 * or in one, then vanish, and no connection is closed.
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

  cut(index: number, direction: CutDirection): void {
    const link = this.#link(index);
    if (direction === 'both') {
      ip('link', 'set', link, 'nomaster');
      return;
    }
    // A port that does not learn has no address after this one is deleted. Then the bridge sends to it only what it
    // floods, and a locked port accepts nothing, because it accepts only from addresses that it has.
    if (direction === 'toNode') bridge(link, 'learning', 'off', ...FLOODS.flatMap((flood) => [flood, 'off']));
    else bridge(link, 'learning', 'off', 'locked', 'on');
    spawnSync('bridge', ['fdb', 'del', this.#hardwareAddress(index), 'dev', link, 'master']); // may have expired
  }

  /** Ends a cut of any direction. */
  join(index: number): void {
    const link = this.#link(index);
    ip('link', 'set', link, 'master', this.#bridge);
    bridge(link, 'learning', 'on', 'locked', 'off', ...FLOODS.flatMap((flood) => [flood, 'on']));
  }

  #hardwareAddress(index: number): string {
    const name = this.names[index]!;
    return execFileSync('ip', ['netns', 'exec', name, 'cat', '/sys/class/net/eth0/address']).toString().trim();
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

function bridge(link: string, ...flags: string[]): void {
  execFileSync('bridge', ['link', 'set', 'dev', link, ...flags], { stdio: 'pipe' });
}
