import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { type CutDirection, NodeNetworks } from './node-networks.ts';

const SCRIPT = fileURLToPath(new URL('../../deploy/patroni/one-machine.sh', import.meta.url));
/** Patroni responds at once if it lives. */
const API_TIMEOUT_MS = 1_500;
/** A failed node may have to copy the whole database. */
const WHOLE_WITHIN_MS = 180_000;
const NODES = [0, 1, 2];

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

/** The cluster of deploy/patroni, each node in a network namespace of its own. */
export class PatroniCluster {
  readonly url: string;
  readonly adminUrl: string;
  readonly #networks: NodeNetworks;
  readonly #script: ChildProcess;
  readonly #folder: string;
  readonly #apis: readonly string[];
  readonly #databases: readonly string[];
  readonly #credentials: string;

  private constructor(networks: NodeNetworks, script: ChildProcess, folder: string) {
    this.#networks = networks;
    this.#script = script;
    this.#folder = folder;
    const settings = readSettings(join(folder, 'cluster.env'));
    this.url = settings.DATABASE_URL!;
    this.adminUrl = settings.ADMIN_URL!;
    this.#credentials = `Basic ${Buffer.from(settings.PATRONI_API!).toString('base64')}`;
    const nodes = NODES.map((node) => readSettings(join(folder, `node${node + 1}.env`)));
    this.#apis = nodes.map(({ PATRONI_RESTAPI_CONNECT_ADDRESS: api }) => `http://${api}`);
    this.#databases = nodes.map(({ PATRONI_POSTGRESQL_CONNECT_ADDRESS: address }) => {
      const url = new URL(this.adminUrl);
      url.host = address!;
      return url.href;
    });
  }

  static async start(): Promise<PatroniCluster> {
    const networks = NodeNetworks.open();
    process.once('exit', () => networks.close()); // also if this process ends with an error
    const env = { ...process.env, NAMESPACES: networks.names.join(' '), ADDRESSES: networks.addresses.join(' ') };
    const script = spawn(SCRIPT, [], { env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    let folder = '';
    for await (const line of createInterface(script.stdout!)) {
      if (line.startsWith('folder: ')) folder = line.slice('folder: '.length);
      if (line.startsWith('DATABASE_URL=')) return new PatroniCluster(networks, script, folder);
    }
    networks.close();
    throw new Error('the cluster did not start; its messages are above');
  }

  nameOf(node: number): string {
    return `node${node + 1}`;
  }

  /** The node that holds the leader's lease and responds as primary; undefined without one. */
  async primary(): Promise<number | undefined> {
    return this.#primaryAmong(NODES);
  }

  /** The primary after another node was lost. A cut or frozen node is not asked: it does not respond soon. */
  successorOf(former: number): Promise<number | undefined> {
    return this.#primaryAmong(NODES.filter((node) => node !== former));
  }

  async #primaryAmong(nodes: readonly number[]): Promise<number | undefined> {
    const isPrimary = (node: number) =>
      this.#ask(node, '/primary').then(
        ({ ok }) => ok,
        () => false,
      );
    const responses = await Promise.all(nodes.map(isPrimary));
    return nodes[responses.indexOf(true)];
  }

  /** Waits until a node confirms a commit, for which it needs a synchronous standby. */
  async untilWritable(node: number): Promise<void> {
    await eventually(async () => {
      const client = new pg.Client({
        connectionString: this.#databases[node]!,
        connectionTimeoutMillis: API_TIMEOUT_MS,
      });
      client.on('error', () => {}); // reported by the query
      try {
        await client.connect();
        await client.query(`select pg_logical_emit_message(true, 'failover', '')`);
      } finally {
        await client.end();
      }
    }, WHOLE_WITHIN_MS);
  }

  /** Waits until all three nodes run and both standbys are synchronous. */
  async untilWhole(): Promise<number> {
    return eventually(async () => {
      const primary = await this.primary();
      if (primary === undefined) throw new Error('no primary');
      const { members } = (await (await this.#ask(primary, '/cluster')).json()) as { members: Member[] };
      const standbys = members.filter(({ role, state }) => role === 'quorum_standby' && state === 'streaming');
      if (standbys.length !== 2) throw new Error(`not whole: ${JSON.stringify(members)}`);
      return primary;
    }, WHOLE_WITHIN_MS);
  }

  /** kill -9 of the Postgres of a node; its Patroni lives. */
  killPostgres(node: number): void {
    signal(this.#networks.processes(node).filter(isPostgres), 'SIGKILL');
  }

  /** kill -9 of everything on a node: Postgres, Patroni and etcd, as at a power loss. */
  killHost(node: number): void {
    signal(this.#networks.processes(node), 'SIGKILL');
  }

  freeze(node: number): void {
    signal(this.#networks.processes(node), 'SIGSTOP');
  }

  thaw(node: number): void {
    signal(this.#networks.processes(node), 'SIGCONT');
  }

  cut(node: number, direction: CutDirection): void {
    this.#networks.cut(node, direction);
  }

  join(node: number): void {
    this.#networks.join(node);
  }

  /** As `systemctl stop patroni`. */
  stopPatroni(node: number): void {
    signal([Number(readFileSync(join(this.#folder, `patroni${node + 1}.pid`), 'utf8'))], 'SIGTERM');
  }

  /** Starts what does not run on a node. */
  startNode(node: number): void {
    execFileSync(SCRIPT, ['node', `${node + 1}`, this.#folder], { stdio: ['ignore', 'ignore', 'inherit'] });
  }

  /** As `patronictl switchover`. Resolves when it was accepted, or is over. */
  async switchOver(node: number): Promise<void> {
    const response = await fetch(`${this.#apis[node]}/switchover`, {
      method: 'POST',
      headers: { authorization: this.#credentials, 'content-type': 'application/json' },
      body: JSON.stringify({ leader: this.nameOf(node) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`switchover: ${response.status} ${text}`);
  }

  #ask(node: number, path: string): Promise<Response> {
    return fetch(`${this.#apis[node]}${path}`, { signal: AbortSignal.timeout(API_TIMEOUT_MS) });
  }

  /** The last lines of the logs of all nodes. */
  logs(): string {
    return execFileSync('sh', ['-c', `tail -n 400 ${this.#folder}/*.log`]).toString();
  }

  async close(): Promise<void> {
    for (const node of NODES) {
      this.join(node);
      this.thaw(node);
    }
    const ended = once(this.#script, 'exit');
    this.#script.kill('SIGTERM');
    if (this.#script.exitCode === null) await ended;
    for (const node of NODES) signal(this.#networks.processes(node), 'SIGKILL');
    this.#networks.close();
  }
}

function readSettings(path: string): Readonly<Record<string, string>> {
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

function isPostgres(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'postgres';
  } catch {
    return false; // it has ended
  }
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it has ended
    }
  }
}
