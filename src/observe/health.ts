import type { Database } from '../store/postgres/open-database.ts';
import type { HsmDeviceStatus, HsmDevices } from '../switching/hsm/hsm-calls.ts';
import type { AcquirerSwitch, SwitchStats } from '../switching/switches/acquirer-switch.ts';

/** Readiness probes can ask at any rate; the database is checked at most at this interval. */
const CHECKED_EVERY_MS = 1_000;
const TIMEOUT_MS = 2_000;

type WatchedSwitches = Iterable<[string, Pick<AcquirerSwitch, 'availability' | 'stats'>]> & {
  readonly faults: ReadonlyMap<string, string>;
};

export interface Readiness {
  readonly isReady: boolean;
  readonly database: 'up' | 'down';
  readonly isDraining: boolean;
  /**
   * By acquirer and processor id; `keyless` while a working key is missing (PINs, or all messages with MACs, are not sent);
   * `unusable` when the stored configuration cannot be opened (the log has the
   * reason). A switch that is down does not make the process unready, because taps still receive a response.
   */
  readonly switches: Readonly<Record<string, string>>;
  /**
   * The status of each HSM device, by name; undefined without devices. Taps without PIN and MAC need none of them, so they do
   * not make the process unready.
   */
  readonly hsm?: Readonly<Record<string, HsmDeviceStatus>> | undefined;
}

/** A signed-on switch without a usable key takes no messages that need it. */
function availabilityOf({ availability, stats }: Pick<AcquirerSwitch, 'availability' | 'stats'>): string {
  if (availability !== 'ready' && availability !== 'full') return availability;
  const isKeyless = Object.values(stats.keyExchange?.keyless ?? {}).some((count) => count > 0);
  return isKeyless ? 'keyless' : availability;
}

/** Whether load balancers should send traffic to this process. */
export class Health {
  readonly #database: Database;
  readonly #switches: WatchedSwitches | undefined;
  readonly #devices: HsmDevices | undefined;
  #isDraining = false;
  #last: { atMs: number; isUp: Promise<boolean> } | undefined;

  constructor({
    database,
    switches,
    devices,
  }: {
    readonly database: Database;
    readonly switches: WatchedSwitches | undefined;
    readonly devices: HsmDevices | undefined;
  }) {
    this.#database = database;
    this.#switches = switches;
    this.#devices = devices;
  }

  async readiness(): Promise<Readiness> {
    const isUp = await this.#databaseIsUp();
    return {
      isReady: isUp && !this.#isDraining,
      database: isUp ? 'up' : 'down',
      isDraining: this.#isDraining,
      switches: {
        ...Object.fromEntries([...(this.#switches?.faults.keys() ?? [])].map((name) => [name, 'unusable'])),
        ...Object.fromEntries([...(this.#switches ?? [])].map(([name, each]) => [name, availabilityOf(each)])),
      },
      hsm: this.#devices && Object.fromEntries(this.#devices.deviceStates().map(({ name, status }) => [name, status])),
    };
  }

  /**
   * The present counters and lists of every switch, by acquirer and processor id: numbers and names, no message
   * content.
   */
  switchStats(): Readonly<Record<string, SwitchStats>> {
    return Object.fromEntries([...(this.#switches ?? [])].map(([name, { stats }]) => [name, stats]));
  }

  /** Reports unready from now on, so that load balancers send no new requests while the open ones complete. */
  drain(): void {
    this.#isDraining = true;
  }

  /** Reports ready again, for a process that continues after all. */
  resume(): void {
    this.#isDraining = false;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  stop(): void {
    this.#last = undefined;
  }

  #databaseIsUp(): Promise<boolean> {
    const nowMs = performance.now();
    if (this.#last && nowMs - this.#last.atMs < CHECKED_EVERY_MS) return this.#last.isUp;
    const timeout = new Promise<boolean>((resolve) => setTimeout(resolve, TIMEOUT_MS, false).unref());
    const response = this.#database.query('select 1').then(
      () => true,
      () => false,
    );
    const isUp = Promise.race([response, timeout]);
    this.#last = { atMs: nowMs, isUp };
    return isUp;
  }
}

/** From the best to the worst: what a caller can expect of the best process. */
const AVAILABILITIES = ['ready', 'full', 'keyless', 'connecting', 'down', 'closed', 'unusable'];
/** Times of which the latest or longest counts. Other numbers are added. */
const GREATEST = new Set(['lastEchoAtMs', 'maxAgeMs']);
/** Bounds of buckets are the same in every process. */
const SAME = new Set(['boundsMs', 'type', 'ages']);

/**
 * The readiness of several processes behind one port: the port serves while one of them does.
 *
 * @param reports at least one
 */
export function mergeReadiness(reports: readonly Readiness[]): Readiness {
  const switches: Record<string, string> = {};
  for (const { switches: each } of reports) {
    for (const [name, availability] of Object.entries(each)) {
      switches[name] = better(switches[name], availability);
    }
  }
  let hsm: Readiness['hsm'];
  for (const { hsm: each = {} } of reports)
    for (const [name, status] of Object.entries(each)) hsm = { ...hsm, [name]: worse(hsm?.[name], status) };
  return {
    isReady: reports.some(({ isReady }) => isReady),
    database: reports.some(({ database }) => database === 'up') ? 'up' : 'down',
    isDraining: reports.every(({ isDraining }) => isDraining),
    switches,
    hsm,
  };
}

/** The statistics of each switch, added over the processes. */
export function mergeSwitches(reports: readonly Readonly<Record<string, unknown>>[]): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const report of reports) {
    for (const [name, stats] of Object.entries(report)) merged[name] = merge(name, merged[name], stats);
  }
  return merged;
}

function merge(name: string, one: unknown, other: unknown): unknown {
  if (one === undefined || one === null || SAME.has(name)) return one ?? other;
  if (other === undefined || other === null) return one;
  if (name === 'availability') return better(String(one), String(other));
  if (typeof one === 'number' && typeof other === 'number') {
    return GREATEST.has(name) ? Math.max(one, other) : one + other;
  }
  if (Array.isArray(one) && Array.isArray(other)) return one.map((each, at) => merge('', each, other[at]));
  if (typeof one !== 'object' || typeof other !== 'object') return one;
  const result: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) result[key] = merge(key, result[key], value);
  return result;
}

/** From the best to the worst: a person must look if one process cannot use a device. */
const DEVICE_STATUSES: readonly HsmDeviceStatus[] = ['ready', 'unreachable', 'circuitOpen', 'wrongLmk'];

function worse(one: HsmDeviceStatus | undefined, other: HsmDeviceStatus): HsmDeviceStatus {
  if (one === undefined) return other;
  return DEVICE_STATUSES.indexOf(one) >= DEVICE_STATUSES.indexOf(other) ? one : other;
}

function better(one: string | undefined, other: string): string {
  if (one === undefined) return other;
  return AVAILABILITIES.indexOf(one) <= AVAILABILITIES.indexOf(other) ? one : other;
}
