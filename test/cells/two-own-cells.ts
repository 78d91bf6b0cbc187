import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyRing } from '../../src/card/create-key-ring.ts';
import { loadProcessors } from '../../src/processor-kit/load-processors.ts';
import type { SwitchConfig } from '../../src/processor-kit/switch-config.ts';
import { demoKeysFile } from '../../src/simulator/demo-hsm.ts';
import { type Simulator, startSimulator } from '../../src/simulator/start-simulator.ts';
import { Phones } from '../failover/phones.ts';
import { type Merchants, saveAcquirerWith } from '../failover/site.ts';
import { TEST_SWITCH_ACCESS } from '../support/installation.ts';
import { OwnCell } from './own-cell.ts';
import { OwnProxy } from './own-proxy.ts';

/** Acquirer 1 has the first, acquirer 2 the second: no RRN, STAN and terminal occurs at both. */
const TYPES = ['type-1', 'type-2'] as const;
const PROFILE = { deadlineMs: 10_000, overtakingGuardSeconds: 5 };
const LATENCY = 'lognormal:20ms,p99=200ms';
const HOSTS = 'a{acquirer}.cells.example';

/** Two cells with an acquirer each, behind HAProxy, with phones of both. */
export class TwoOwnCells {
  readonly cells: readonly [OwnCell, OwnCell];
  readonly phones: readonly [Phones, Phones];
  readonly simulator: Simulator;
  readonly proxy: OwnProxy;
  readonly folder: string;

  private constructor(parts: Pick<TwoOwnCells, 'cells' | 'phones' | 'simulator' | 'proxy' | 'folder'>) {
    ({
      cells: this.cells,
      phones: this.phones,
      simulator: this.simulator,
      proxy: this.proxy,
      folder: this.folder,
    } = parts);
  }

  static async start(): Promise<TwoOwnCells> {
    const folder = mkdtempSync(join(tmpdir(), 'tapwire-cells-'));
    chmodSync(folder, 0o755); // the account of Postgres must be able to pass through
    const types = await loadProcessors();
    const processors = TYPES.map((type) => {
      const processor = types.get(type)!;
      const config: SwitchConfig = { ...processor.exampleConfig, profile: PROFILE };
      return { processor, config, port: 0 };
    });
    const simulator = await startSimulator({ processors, latency: LATENCY, ledgerPort: 0 });
    const configs = processors.map(({ config }, at) => {
      return { ...config, addresses: [{ host: '127.0.0.1', port: simulator.ports[at]! }] };
    });
    const hsm = join(folder, 'hsm-keys.json');
    writeFileSync(hsm, demoKeysFile(configs));
    const keys = join(folder, 'keys.json');
    await createKeyRing(keys);
    const environment = { TAPWIRE_KEYS_FILE: keys, HSM_KEYS_FILE: hsm, ...TEST_SWITCH_ACCESS };
    const cells = [
      await OwnCell.create('a', folder, environment),
      await OwnCell.create('b', folder, environment),
    ] as const;
    const merchants: Merchants[] = [];
    for (const [at, cell] of cells.entries()) {
      merchants.push(await cell.onDatabase((database) => saveAcquirerWith(database, at + 1, TYPES[at]!, configs[at]!)));
      await cell.startGateway();
    }
    const map = ['a1.cells.example cell-a', 'a2.cells.example cell-b'];
    const proxy = await OwnProxy.start(folder, map, [cells[0].port, cells[1].port]);
    const phonesOf = (at: 0 | 1) => {
      const origin = `http://a${at + 1}.cells.example`;
      return Phones.create(proxy.port, [merchants[at]!], { origin, keysUrl: cells[at].url });
    };
    const phones = [await phonesOf(0), await phonesOf(1)] as const;
    const all = new TwoOwnCells({ cells, phones, simulator, proxy, folder });
    writeFileSync(all.environment.CELLS_FILE, JSON.stringify(all.#list()));
    return all;
  }

  /** For `tapwire cell`. */
  get environment(): { readonly CELLS_FILE: string } {
    return { CELLS_FILE: join(this.folder, 'cells.json') };
  }

  get ledgerUrl(): string {
    return `http://127.0.0.1:${this.simulator.ledgerPort}/ledger`;
  }

  #list() {
    const cells = this.cells.map(({ name, url, databaseUrl }, number) => {
      return { name, url, database: databaseUrl, backend: `cell-${name}`, number };
    });
    return { cells, proxy: { map: this.proxy.map, sockets: [this.proxy.socket], hosts: [HOSTS] } };
  }

  async close(): Promise<void> {
    await this.proxy.close();
    for (const cell of this.cells) await cell.close();
    await this.simulator.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
