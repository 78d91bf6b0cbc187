import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../src/start/config.ts';
import { openKeyRing } from '../../src/start/open-key-ring.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { createSecretVault, createWebhookSecret } from '../../src/webhooks/webhook-signature.ts';
import { startProcess } from './parts.ts';

/** What a receiver has taken since it was asked to forget. */
export interface TakenWebhooks {
  /** Different ones. */
  readonly events: number;
  /** Deliveries of events that it had already. */
  readonly repeated: number;
  /** When the last delivery arrived, by the clock of the machine. */
  readonly lastAtMs: number;
  /** Between each outcome and the arrival of its first delivery; unsorted. */
  readonly delaysMs: readonly number[];
}

const LOOK_EVERY_MS = 100;
/** A receiver that gets nothing for this long will not get the rest: longer than the lease of a delivery. */
const GIVE_UP_AFTER_MS = 60_000;

/** The receiver of the webhooks of a benchmark, in a process of its own. */
export class WebhookSink {
  readonly pid: number;
  readonly #origin: string;

  private constructor(pid: number, port: string) {
    this.pid = pid;
    this.#origin = `http://127.0.0.1:${port}`;
  }

  static async start(closers: (() => unknown)[]): Promise<WebhookSink> {
    const program = fileURLToPath(new URL('./webhook-receiver.ts', import.meta.url));
    const { pid, line } = await startProcess(closers, [program], {}, '');
    return new WebhookSink(pid, line);
  }

  /**
   * Makes it the endpoint of an integrator.
   *
   * @param folder of the installation's keys
   * @returns the id of the endpoint
   */
  async register(
    database: Database,
    folder: string,
    { integratorId = 1, serves = 'taps', path = '/hook' } = {},
  ): Promise<string> {
    const vault = createSecretVault(await openKeyRing(readConfig({ TAPWIRE_DATA: folder })));
    const id = randomUUID();
    await database.query(
      `insert into webhook_endpoints (acquirer_id, id, integrator_id, serves, url, sealed_secret) values (1, $1, $2, $3, $4, $5)`,
      [id, integratorId, serves, `${this.#origin}${path}`, vault.seal(id, createWebhookSecret())],
    );
    return id;
  }

  /** Accepts events of any sender. */
  get url(): string {
    return `${this.#origin}/hook`;
  }

  async forget(): Promise<void> {
    await fetch(`${this.#origin}/taken`, { method: 'DELETE' });
  }

  async taken(): Promise<TakenWebhooks> {
    const response = await fetch(`${this.#origin}/taken`);
    return (await response.json()) as TakenWebhooks;
  }

  /** Resolves when that many events were delivered. @throws if some are missing, or there are more */
  async untilTaken(count: number): Promise<TakenWebhooks> {
    let [before, changedAtMs] = [-1, performance.now()];
    for (;;) {
      const taken = await this.taken();
      if (taken.events > count) throw new Error(`${count} taps had ${taken.events} webhooks`);
      if (taken.events === count) return taken;
      if (taken.events > before) [before, changedAtMs] = [taken.events, performance.now()];
      if (performance.now() - changedAtMs > GIVE_UP_AFTER_MS)
        throw new Error(`${count - taken.events} of ${count} webhooks are missing`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}
