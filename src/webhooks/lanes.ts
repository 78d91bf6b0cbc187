/**
 * One lane per endpoint, so that a slow or dead receiver delays only its own deliveries. A lane lets a few deliveries
 * run at once. A further delivery may wait if its turn comes within a second. Otherwise it is put off to the expected
 * time of its turn, and its worker slot is free for other endpoints.
 *
 * The width of a lane follows the receiver: two deliveries at first, doubled with each success. After a few
 * consecutive failures, or a slow one, the endpoint counts as failing, and one delivery at a time probes it. The lane
 * also remembers that deliveries of its endpoint may wait for a later time, so that they can be brought forward when
 * the endpoint takes deliveries again (`recoveries.ts`).
 */
import { LruMap } from '../codecs/bytes/lru-map.ts';

/** Concurrent deliveries by jobs to one endpoint. */
const WIDTH = 8;
/**
 * Concurrent deliveries besides them, of events that were just committed. At full load a response takes up to 30 ms, so this
 * is room for 1,600 in a second. With the others, an endpoint has at most 64 connections from a process.
 */
const PROMPT_WIDTH = 56;
/**
 * For an endpoint that has taken nothing yet: if it hangs, few deliveries hang with it, and a lost one delays no
 * other.
 */
const FIRST_WIDTH = 2;
/** A receiver may refuse one event and take all others; several consecutive refusals concern the receiver. */
const FAILING_AFTER = 3;
/** A slower endpoint gets one delivery at a time, because worker slots are for the others. */
const SLOW_MS = 5_000;
/** A longer wait is not worth a worker slot. */
const MAX_WAIT_MS = 1_000;
/** Each postponement costs a write, so it must be long enough to be cheaper than waiting. */
const MIN_PUT_OFF_SECONDS = 1;
/** A recovered endpoint must get deliveries soon, so nothing is put off for longer. */
const MAX_PUT_OFF_SECONDS = 600;
/** A turn this far in the future of an idle lane was computed when the receiver was slower. */
const IDLE_RESERVATION_MS = 2_000;
/** Assumed response time of a new endpoint. */
const ASSUMED_MS = 100;
/** Weight of the last response time in the average. */
const WEIGHT_OF_LAST = 0.25;
/** More endpoints than an installation has; a lane takes some hundred bytes. A dropped lane starts again. */
const MAX_LANES = 100_000;

/** How a delivery ended: the receiver took it, it failed, or no attempt was made. */
export type DeliveryEnd = 'taken' | 'failed' | 'notMade';

export type Turn =
  /**
   * Deliver, and leave the lane afterwards. A probe of a failing or slow endpoint must not keep a worker slot from
   * others.
   */
  | { readonly kind: 'go'; readonly isProbe: boolean; readonly leave: (end: DeliveryEnd) => void }
  | { readonly kind: 'putOff'; readonly seconds: number };

interface Waiter {
  readonly take: (turn: Turn) => void;
  readonly timer: NodeJS.Timeout;
}

interface Lane {
  /** Start times of the running deliveries by jobs, oldest first. */
  readonly running: number[];
  /** Start times of the running deliveries of events that were just committed, oldest first. */
  readonly prompt: number[];
  promptWidth: number;
  readonly waiting: Waiter[];
  averageMs: number;
  width: number;
  failuresInARow: number;
  /** The turn of the last delivery that was put off. */
  lastSlotAtMs: number;
  pauseEndsAtMs: number;
  /** Deliveries may wait for later. True for a new lane, because another process may have left some. */
  mayHaveWaiting: boolean;
}

export class Lanes {
  readonly #nowMs: () => number;
  readonly #lanes = new LruMap<string, Lane>(MAX_LANES);

  /** @param nowMs a clock that never goes backwards */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  enter(endpointId: string): Promise<Turn> {
    const lane = this.#lane(endpointId);
    if (this.#isOpen(lane)) return Promise.resolve(this.#go(lane));
    if (!this.#isWorthWaiting(lane)) return Promise.resolve(this.#putOff(lane));
    return new Promise((take) => {
      const timer = setTimeout(() => {
        lane.waiting.splice(lane.waiting.indexOf(waiter), 1);
        take(this.#putOff(lane));
      }, MAX_WAIT_MS);
      const waiter = { take, timer };
      lane.waiting.push(waiter);
    });
  }

  /**
   * A turn for an event that was just committed. `full`: one of those that run must end first. `closed`: the receiver does
   * not take deliveries as they come, and the job of the event waits for it.
   */
  enterPrompt(endpointId: string): Extract<Turn, { kind: 'go' }> | 'full' | 'closed' {
    const lane = this.#lane(endpointId);
    if (isFailing(lane) || isSlow(lane) || this.#isStuck(lane) || this.#nowMs() < lane.pauseEndsAtMs) return 'closed';
    return lane.prompt.length < lane.promptWidth ? this.#go(lane, lane.prompt) : 'full';
  }

  /** The receiver requested a pause. */
  pause(endpointId: string, seconds: number): void {
    const lane = this.#lane(endpointId);
    lane.pauseEndsAtMs = this.#nowMs() + Math.min(seconds, MAX_PUT_OFF_SECONDS) * 1_000;
  }

  /** Whether the endpoint takes deliveries, and some that wait for a later time may be brought forward. */
  mayHaveWaiting(endpointId: string): boolean {
    const lane = this.#lane(endpointId);
    return lane.mayHaveWaiting && !isFailing(lane);
  }

  /** No delivery waits for later. */
  setNoneWaiting(endpointId: string): void {
    this.#lane(endpointId).mayHaveWaiting = false;
  }

  isFailing(endpointId: string): boolean {
    return isFailing(this.#lane(endpointId));
  }

  /** The number of further deliveries that the endpoint would take within this time. */
  room(endpointId: string, withinMs: number): number {
    const lane = this.#lane(endpointId);
    if (isFailing(lane) || this.#nowMs() < lane.pauseEndsAtMs) return 0;
    const running = Math.max(0, lane.running.length - widthOf(lane));
    const turns = Math.floor((withinMs * widthOf(lane)) / Math.max(lane.averageMs, 1));
    return Math.max(0, turns - lane.waiting.length - running);
  }

  #lane(endpointId: string): Lane {
    let lane = this.#lanes.get(endpointId);
    if (!lane) {
      lane = {
        ...{ running: [], prompt: [], waiting: [], averageMs: ASSUMED_MS, failuresInARow: 0 },
        ...{ width: FIRST_WIDTH, promptWidth: FIRST_WIDTH },
        ...{ lastSlotAtMs: 0, pauseEndsAtMs: 0, mayHaveWaiting: true },
      };
      this.#lanes.set(endpointId, lane);
    }
    return lane;
  }

  #isOpen(lane: Lane): boolean {
    return this.#nowMs() >= lane.pauseEndsAtMs && lane.running.length < widthOf(lane);
  }

  #isWorthWaiting(lane: Lane): boolean {
    if (this.#nowMs() < lane.pauseEndsAtMs || this.#isStuck(lane)) return false;
    return (lane.waiting.length + 1) * spacingMs(lane) <= MAX_WAIT_MS;
  }

  /** If a delivery that started long ago still hangs, the others probably hang, too. */
  #isStuck({ running, prompt }: Lane): boolean {
    const nowMs = this.#nowMs();
    return nowMs - Math.min(running[0] ?? nowMs, prompt[0] ?? nowMs) > MAX_WAIT_MS;
  }

  #go(lane: Lane, running = lane.running): Extract<Turn, { kind: 'go' }> {
    const startedAtMs = this.#nowMs();
    running.push(startedAtMs);
    const isProbe = isFailing(lane) || isSlow(lane);
    const leave = (end: DeliveryEnd) => {
      running.splice(running.indexOf(startedAtMs), 1);
      this.#leave(lane, startedAtMs, end);
    };
    return { kind: 'go', isProbe, leave };
  }

  #leave(lane: Lane, startedAtMs: number, end: DeliveryEnd): void {
    const tookMs = this.#nowMs() - startedAtMs;
    if (end === 'taken') this.#widen(lane, tookMs);
    else if (end === 'failed') this.#narrow(lane, tookMs);
    if (end !== 'notMade') lane.averageMs += (tookMs - lane.averageMs) * WEIGHT_OF_LAST;
    while (lane.waiting.length > 0 && this.#isOpen(lane)) this.#call(lane, this.#go(lane));
  }

  #widen(lane: Lane, tookMs: number): void {
    const nowMs = this.#nowMs();
    if (isFailing(lane)) {
      // Response times from before the recovery no longer apply.
      lane.averageMs = tookMs;
      lane.lastSlotAtMs = nowMs;
    }
    lane.width = Math.min(lane.width * 2, WIDTH);
    lane.promptWidth = Math.min(lane.promptWidth * 2, PROMPT_WIDTH);
    lane.failuresInARow = 0;
    const isIdle = lane.running.length === 0 && lane.waiting.length === 0;
    if (isIdle && lane.lastSlotAtMs > nowMs + IDLE_RESERVATION_MS && tookMs < SLOW_MS) {
      lane.lastSlotAtMs = nowMs;
      lane.mayHaveWaiting = true;
    }
  }

  #narrow(lane: Lane, tookMs: number): void {
    lane.failuresInARow = tookMs > SLOW_MS ? Math.max(lane.failuresInARow, FAILING_AFTER) : lane.failuresInARow + 1;
    lane.mayHaveWaiting = true;
    if (!isFailing(lane)) return;
    lane.width = 1;
    lane.promptWidth = FIRST_WIDTH;
  }

  #call(lane: Lane, turn: Turn): void {
    const { take, timer } = lane.waiting.shift()!;
    clearTimeout(timer);
    take(turn);
  }

  #putOff(lane: Lane): Turn {
    const nowMs = this.#nowMs();
    const earliestAtMs = Math.max(nowMs + lane.waiting.length * spacingMs(lane), lane.pauseEndsAtMs);
    const slotAtMs = Math.max(lane.lastSlotAtMs, earliestAtMs) + spacingMs(lane);
    lane.lastSlotAtMs = Math.min(slotAtMs, nowMs + MAX_PUT_OFF_SECONDS * 1_000);
    return { kind: 'putOff', seconds: Math.max((lane.lastSlotAtMs - nowMs) / 1_000, MIN_PUT_OFF_SECONDS) };
  }
}

function isFailing({ failuresInARow }: Lane): boolean {
  return failuresInARow >= FAILING_AFTER;
}

function isSlow({ averageMs }: Lane): boolean {
  return averageMs > SLOW_MS;
}

function widthOf(lane: Lane): number {
  return isSlow(lane) ? 1 : lane.width;
}

/** Time between two turns at the lane's full width. */
function spacingMs(lane: Lane): number {
  return lane.averageMs / (isSlow(lane) || isFailing(lane) ? 1 : WIDTH);
}
