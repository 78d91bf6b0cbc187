/**
 * Brings forward the waiting deliveries of an endpoint that takes deliveries again, both scheduled and put-off ones.
 * The pace doubles with each run while the endpoint takes them, within the room of its lane, and starts again after a
 * failure. A recovered receiver thus gets what it missed within a minute, and not all of it at once.
 *
 * A run reads all waiting deliveries once for all endpoints. Runs take at most a tenth of the time, and only one
 * process of an installation does this at a time.
 */
import type { DeliveryEnd, Lanes } from './lanes.ts';
import type { WaitingDeliveries } from './ports.ts';

const LOOK_EVERY_MS = 1_000;
/** Deliveries in the first second after a recovery: the width of a lane. */
const FIRST_PACE = 8;
/** Limit per second and endpoint: more than a process delivers. */
const MAX_PACE = 512;
/** Endpoints in one statement; the others wait for the next run. */
const ENDPOINTS_PER_LOOK = 1_000;
/** After a run, the database rests for this multiple of the run's duration. */
const REST_FACTOR = 9;
/** Deliveries that may be brought forward only near their scheduled time wait this long at most. */
const WAIT_MOST_SECONDS = 3_600;

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
  readonly #options;
  readonly #recoveries = new Map<string, Recovery>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: {
    readonly waiting: WaitingDeliveries;
    readonly lanes: Pick<Lanes, 'mayHaveWaiting' | 'setNoneWaiting' | 'isFailing' | 'room'>;
    /** A clock that never goes backwards. */
    readonly nowMs: () => number;
    /** From 0 to 1: endpoints that recover together must not be processed at the same moment. */
    readonly random: () => number;
    readonly onError: (error: unknown) => void;
  }) {
    this.#options = options;
  }

  /** Call this after each delivery, when its lane has been left. */
  after({ acquirerId, id }: { readonly acquirerId: number; readonly id: string }, end: DeliveryEnd): void {
    const { lanes, nowMs } = this.#options;
    const recovery = this.#recoveries.get(id);
    if (end === 'failed' && recovery) recovery.pace = FIRST_PACE;
    if (end !== 'taken' || !lanes.mayHaveWaiting(id)) return;
    if (recovery) recovery.lookAtMs = Math.min(recovery.lookAtMs, nowMs());
    else this.#recoveries.set(id, { acquirerId, pace: FIRST_PACE, lookAtMs: nowMs() });
    this.#schedule(LOOK_EVERY_MS);
  }

  /** Starts no further run; resolves when the current run has ended. */
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
      const startedAtMs = this.#options.nowMs();
      this.#looking = this.#look().finally(() => {
        this.#looking = undefined;
        this.#schedule(Math.max(LOOK_EVERY_MS, (this.#options.nowMs() - startedAtMs) * REST_FACTOR));
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

  /** Endpoints that are due and whose lanes have room. One that fails again is left to its schedule. */
  #choose(): Wanted[] {
    const { lanes, nowMs } = this.#options;
    const wanted: Wanted[] = [];
    for (const [endpointId, { acquirerId, pace, lookAtMs }] of this.#recoveries) {
      if (wanted.length === ENDPOINTS_PER_LOOK) break;
      if (lanes.isFailing(endpointId)) this.#recoveries.delete(endpointId);
      const most = Math.min(pace, lanes.room(endpointId, LOOK_EVERY_MS));
      if (lookAtMs > nowMs() || most === 0) continue;
      wanted.push({ acquirerId, endpointId, most });
      // Before the run: a failure during it leaves a delivery that the run does not see.
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
    // After the others, which are next.
    this.#recoveries.set(endpointId, recovery);
    if (moved === most) recovery.pace = Math.min(recovery.pace * 2, MAX_PACE);
    else recovery.lookAtMs = this.#options.nowMs() + laterSeconds! * 1_000;
  }
}
