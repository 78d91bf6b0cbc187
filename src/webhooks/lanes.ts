/**
 * One lane per endpoint, so that a receiver that is slow or dead is in nobody's way but its own. A lane lets a few
 * deliveries run at once. Behind them a delivery may wait, if its turn comes within a second; otherwise it is put off to
 * the time when its turn should come, and its hand is free for other endpoints.
 */

/** At once to one endpoint. */
const WIDTH = 8;
/** An endpoint whose answers take longer is let alone but for one delivery at a time: hands are for the others. */
const SLOW_MS = 5_000;
/** What is worth waiting for with a hand. */
const MAX_WAIT_MS = 1_000;
/** Each put-off costs a write: never so short that it is cheaper to wait. */
const MIN_PUT_OFF_SECONDS = 1;
/** An endpoint that has recovered must notice it: nothing is put off for longer. */
const MAX_PUT_OFF_SECONDS = 600;
/** Of a new endpoint nothing is known. */
const ASSUMED_MS = 100;
/** How much the last answer says about the next one. */
const WEIGHT_OF_LAST = 0.25;

export type Turn =
  /** Deliver, and leave. */
  { readonly kind: 'go'; readonly leave: () => void } | { readonly kind: 'putOff'; readonly seconds: number };

interface Waiter {
  readonly take: (turn: Turn) => void;
  readonly timer: NodeJS.Timeout;
}

interface Lane {
  /** When each that is running began, the oldest first. */
  readonly running: number[];
  readonly waiting: Waiter[];
  averageMs: number;
  /** When the last of those that were put off should have its turn. */
  lastSlotMs: number;
  pausedUntilMs: number;
}

export class Lanes {
  readonly #nowMs: () => number;
  readonly #lanes = new Map<string, Lane>();

  /** @param nowMs a clock that only goes forward */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  enter(endpointId: string): Promise<Turn> {
    const lane = this.#lane(endpointId);
    if (this.#isOpen(lane)) return Promise.resolve(this.#go(endpointId, lane));
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

  /** The receiver asked for patience. */
  pause(endpointId: string, seconds: number): void {
    const lane = this.#lane(endpointId);
    lane.pausedUntilMs = this.#nowMs() + Math.min(seconds, MAX_PUT_OFF_SECONDS) * 1_000;
  }

  #lane(endpointId: string): Lane {
    let lane = this.#lanes.get(endpointId);
    if (!lane) {
      lane = { running: [], waiting: [], averageMs: ASSUMED_MS, lastSlotMs: 0, pausedUntilMs: 0 };
      this.#lanes.set(endpointId, lane);
    }
    return lane;
  }

  #isOpen(lane: Lane): boolean {
    return this.#nowMs() >= lane.pausedUntilMs && lane.running.length < widthOf(lane);
  }

  /** While one hangs that began long ago, the others probably do, too. */
  #isWorthWaiting(lane: Lane): boolean {
    const nowMs = this.#nowMs();
    const isStuck = nowMs - (lane.running[0] ?? nowMs) > MAX_WAIT_MS;
    return nowMs >= lane.pausedUntilMs && !isStuck && (lane.waiting.length + 1) * spacingMs(lane) <= MAX_WAIT_MS;
  }

  #go(endpointId: string, lane: Lane): Turn {
    const startMs = this.#nowMs();
    lane.running.push(startMs);
    return { kind: 'go', leave: () => this.#leave(endpointId, lane, startMs) };
  }

  #leave(endpointId: string, lane: Lane, startMs: number): void {
    lane.running.splice(lane.running.indexOf(startMs), 1);
    lane.averageMs += (this.#nowMs() - startMs - lane.averageMs) * WEIGHT_OF_LAST;
    while (lane.waiting.length > 0 && this.#isOpen(lane)) this.#call(lane, this.#go(endpointId, lane));
    this.#forget(endpointId, lane);
  }

  #call(lane: Lane, turn: Turn): void {
    const { take, timer } = lane.waiting.shift()!;
    clearTimeout(timer);
    take(turn);
  }

  #putOff(lane: Lane): Turn {
    const nowMs = this.#nowMs();
    const earliestMs = Math.max(nowMs + lane.waiting.length * spacingMs(lane), lane.pausedUntilMs);
    const slotMs = Math.max(lane.lastSlotMs, earliestMs) + spacingMs(lane);
    lane.lastSlotMs = Math.min(slotMs, nowMs + MAX_PUT_OFF_SECONDS * 1_000);
    return { kind: 'putOff', seconds: Math.max((lane.lastSlotMs - nowMs) / 1_000, MIN_PUT_OFF_SECONDS) };
  }

  /** A lane that says no more than a new one would is not kept. */
  #forget(endpointId: string, lane: Lane): void {
    const nowMs = this.#nowMs();
    const isIdle = lane.running.length === 0 && lane.waiting.length === 0;
    if (isIdle && lane.averageMs < MAX_WAIT_MS && lane.pausedUntilMs <= nowMs && lane.lastSlotMs <= nowMs) {
      this.#lanes.delete(endpointId);
    }
  }
}

function widthOf({ averageMs }: Lane): number {
  return averageMs > SLOW_MS ? 1 : WIDTH;
}

/** How often a turn comes. */
function spacingMs(lane: Lane): number {
  return lane.averageMs / widthOf(lane);
}
