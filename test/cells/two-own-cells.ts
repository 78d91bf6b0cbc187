import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyRing } from '../../src/card/change-key-ring.ts';
import { Phones } from '../failover/phones.ts';
import { TEST_SWITCH_ACCESS } from '../support/installation.ts';
import { type Merchants, TwoSwitches } from '../support/two-switches.ts';
import { OwnCell } from './own-cell.ts';
import { OwnProxy } from './own-proxy.ts';

const HOSTS = 'a{acquirer}.cells.example';

/** Two cells with an acquirer each, behind HAProxy, with phones of both. */
export class TwoOwnCells {
  readonly cells: readonly [OwnCell, OwnCell];
  readonly phones: readonly [Phones, Phones];
  readonly switches: TwoSwitches;
  readonly proxy: OwnProxy;
  readonly folder: string;

  private constructor(parts: Pick<TwoOwnCells, 'cells' | 'phones' | 'switches' | 'proxy' | 'folder'>) {
    ({
      cells: this.cells,
      phones: this.phones,
      switches: this.switches,
      proxy: this.proxy,
      folder: this.folder,
    } = parts);
  }

  static async start(): Promise<TwoOwnCells> {
    const folder = mkdtempSync(join(tmpdir(), 'tapwire-cells-'));
    chmodSync(folder, 0o755); // the account of Postgres must be able to pass through
    const switches = await TwoSwitches.start(folder);
    const keys = join(folder, 'keys.json');
    await createKeyRing(keys);
    const environment = { TAPWIRE_KEYS_FILE: keys, HSM_KEYS_FILE: switches.hsmKeysFile, ...TEST_SWITCH_ACCESS };
    const cells = [
      await OwnCell.create('a', folder, environment),
      await OwnCell.create('b', folder, environment),
    ] as const;
    const merchants: Merchants[] = [];
    for (const [at, cell] of cells.entries()) {
      const acquirerId = switches.acquirerIds[at]!;
      merchants.push(await cell.onDatabase((database) => switches.saveAcquirer(database, acquirerId)));
      await cell.startGateway();
    }
    const map = ['a1.cells.example cell-a', 'a2.cells.example cell-b'];
    const proxy = await OwnProxy.start(folder, map, [cells[0].port, cells[1].port]);
    const phonesOf = (at: 0 | 1) => {
      const origin = `http://a${at + 1}.cells.example`;
      return Phones.create(proxy.port, [merchants[at]!], { origin, keysUrl: cells[at].url });
    };
    const phones = [await phonesOf(0), await phonesOf(1)] as const;
    const all = new TwoOwnCells({ cells, phones, switches, proxy, folder });
    writeFileSync(all.environment.CELLS_FILE, JSON.stringify(all.#list()));
    return all;
  }

  /** For `tapwire cell`. */
  get environment(): { readonly CELLS_FILE: string } {
    return { CELLS_FILE: join(this.folder, 'cells.json') };
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
    await this.switches.simulator.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
