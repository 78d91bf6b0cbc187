/**
 * What follows when an endpoint takes deliveries again: those of its deliveries that wait for a later time, by the schedule or
 * because they were put off, are brought forward. The pace doubles with each look while the endpoint takes them, within what
 * its lane has room for, and begins anew after a failure. So a receiver that is back gets what it missed within a minute, and
 * not all of it at once.
 *
 * A look reads through all deliveries that wait, once for all endpoints: looks take a tenth of the time at most, and only
 * one process of an installation looks at a time.
 */
import type { DeliveryEnd, Lanes } from './lanes.ts';
import type { WaitingDeliveries } from './ports.ts';

const LOOK_EVERY_MS = 1_000;
/** What a receiver gets in the first second after it is back: as many as its lane is wide. */
const FIRST_PACE = 8;
/** In a second, to one endpoint: more than a process delivers. */
const MOST_PACE = 512;
/** Endpoints in one statement; the others wait for the next look. */
const ENDPOINTS_PER_LOOK = 1_000;
/** After a look, the database rests for so many times as long as it took. */
const REST_FACTOR = 9;
/** What may be sent early only after so long is left to its schedule. */
const WAIT_MOST_SECONDS = 3_600;

export interface RecoveriesOptions {
  readonly waiting: WaitingDeliveries;
  readonly lanes: Pick<Lanes, 'mayHaveWaiting' | 'setNoneWaiting' | 'isFailing' | 'room'>;
  /** A clock that only goes forward. */
  readonly nowMs: () => number;
  /** From 0 to 1: what recovers together must not be looked for together. */
  readonly random: () => number;
  readonly onError: (error: unknown) => void;
}

interface Recovery {
  readonly acquirerId: number;
  pace: number;
  lookAtMs: number;
}

interface Wanted {
  readonly acquirerId: number;
  readonly endpointId: string;
  readonly most: number;
}

export class Recoveries {
  readonly #options: RecoveriesOptions;
  readonly #recoveries = new Map<string, Recovery>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: RecoveriesOptions) {
    this.#options = options;
  }

  /** To be called after each delivery, when its lane has been left. */
  after({ acquirerId, id }: { readonly acquirerId: number; readonly id: string }, end: DeliveryEnd): void {
    const { lanes, nowMs } = this.#options;
    const recovery = this.#recoveries.get(id);
    if (end === 'failed' && recovery) recovery.pace = FIRST_PACE;
    if (end !== 'taken' || !lanes.mayHaveWaiting(id)) return;
    if (recovery) recovery.lookAtMs = Math.min(recovery.lookAtMs, nowMs());
    else this.#recoveries.set(id, { acquirerId, pace: FIRST_PACE, lookAtMs: nowMs() });
    this.#schedule(LOOK_EVERY_MS);
  }

  /** Looks no more; resolves when the look under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #schedule(inMs: number): void {
    if (this.#timer !== undefined || this.#looking || this.#isStopped || this.#recoveries.size === 0) return;
    const jitter = 0.5 + this.#options.random();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      const startMs = this.#options.nowMs();
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined;
        this.#schedule(Math.max(LOOK_EVERY_MS, (this.#options.nowMs() - startMs) * REST_FACTOR));
      });
    }, inMs * jitter).unref();
  }

  async #look(): Promise<void> {
    const { waiting, onError } = this.#options;
    const wanted = this.#choose();
    if (wanted.length === 0) return;
    try {
      const found = await waiting.bringForward(wanted, LOOK_EVERY_MS / 1_000);
      if (found) for (const each of wanted) this.#conclude(each, found.get(each.endpointId));
    } catch (error) {
      onError(error);
    }
  }

  /** Endpoints whose turn it is and whose lanes have room; one that fails again is left to its schedule. */
  #choose(): Wanted[] {
    const { lanes, nowMs } = this.#options;
    const wanted: Wanted[] = [];
    for (const [endpointId, { acquirerId, pace, lookAtMs }] of this.#recoveries) {
      if (wanted.length === ENDPOINTS_PER_LOOK) break;
      if (lanes.isFailing(endpointId)) this.#recoveries.delete(endpointId);
      const most = Math.min(pace, lanes.room(endpointId, LOOK_EVERY_MS));
      if (lookAtMs > nowMs() || most === 0) continue;
      wanted.push({ acquirerId, endpointId, most });
      // Before the look: a failure during it leaves something that the look does not see.
      lanes.setNoneWaiting(endpointId);
    }
    return wanted;
  }

  #conclude(
    { endpointId, most }: Wanted,
    found: { readonly moved: number; readonly laterSeconds: number | null } | undefined,
  ) {
    const recovery = this.#recoveries.get(endpointId);
    if (!recovery) return;
    const { moved = 0, laterSeconds = null } = found ?? {};
    this.#recoveries.delete(endpointId);
    if (moved < most && (laterSeconds === null || laterSeconds > WAIT_MOST_SECONDS)) return;
    // Behind the others, whose turn is next.
    this.#recoveries.set(endpointId, recovery);
    if (moved === most) recovery.pace = Math.min(recovery.pace * 2, MOST_PACE);
    else recovery.lookAtMs = this.#options.nowMs() + laterSeconds! * 1_000;
  }
}
