import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { SwitchConfig } from '../../src/kits/processor-kit/switch-config.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import {
  saveAcquirer,
  saveIntegrator,
  saveIssuerKey,
  saveProcessor,
  saveRoute,
} from '../../src/store/settings/tenants.ts';
import { saveLoadMerchants } from '../../src/tools/load/load-profile.ts';
import type { Profile } from '../../src/tools/phone/profile.ts';
import { demoKeysOf } from '../../src/tools/simulator/demo-hsm.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { createTokenIssuer } from './token-issuer.ts';

/** Type 1 counts STANs for each terminal, type 2 for the whole acquirer. No RRN, STAN and terminal occurs at both. */
const TYPES = ['type-1', 'type-2'] as const;
/** Short, so that what a fault leaves uncertain is decided soon. */
const PROFILE = { deadlineMs: 10_000, overtakingGuardSeconds: 5 };
/** Some taps are at the switch whenever a fault begins. */
const LATENCY = 'lognormal:20ms,p99=200ms';

/** The merchants of an acquirer, and the issuer of their tokens. */
export interface Merchants {
  readonly issuer: Profile['issuer'];
  readonly merchants: readonly Profile['merchant'][];
}

/** A simulated switch of each type. Acquirer 1 uses the first, acquirer 2 the second. */
export class TwoSwitches {
  readonly simulator: Simulator;
  /** For `HSM_KEYS_FILE`. */
  readonly hsmKeysFile: string;
  readonly acquirerIds = [1, 2] as const;
  readonly #configs: readonly SwitchConfig[];

  private constructor(simulator: Simulator, hsmKeysFile: string, configs: readonly SwitchConfig[]) {
    this.simulator = simulator;
    this.hsmKeysFile = hsmKeysFile;
    this.#configs = configs;
  }

  /** @param folder where the file with their keys is written */
  static async start(folder: string): Promise<TwoSwitches> {
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
    const hsmKeysFile = join(folder, 'hsm-keys.json');
    writeFileSync(hsmKeysFile, JSON.stringify({ keys: demoKeysOf(configs) }));
    return new TwoSwitches(simulator, hsmKeysFile, configs);
  }

  get ledgerUrl(): string {
    return `http://127.0.0.1:${this.simulator.ledgerPort}/ledger`;
  }

  /** Saves an acquirer with its switch, an integrator and its merchants. */
  async saveAcquirer(database: Database, id: 1 | 2): Promise<Merchants> {
    await saveAcquirer(database, id, `Acquirer ${id}`);
    await saveIntegrator(database, id, id, `Integrator ${id}`);
    const merchants = await saveLoadMerchants(database, { acquirerId: id, integratorId: id });
    const [type, config] = [TYPES[id - 1]!, this.#configs[id - 1]!];
    await saveProcessor(database, { acquirerId: id, id: 1, type, config });
    await saveRoute(database, { acquirerId: id, id, processorId: 1, priority: 1 });
    const issuer = createTokenIssuer(`https://acquirer-${id}.example`);
    const { iss, kid, algorithm, publicKey } = issuer;
    await saveIssuerKey(database, {
      ...{ issuer: iss, kid, acquirerId: id, integratorId: id },
      ...{ algorithms: [algorithm], publicKey },
    });
    return { issuer, merchants };
  }
}
