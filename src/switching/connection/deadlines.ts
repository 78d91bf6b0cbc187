import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';

/**
 * Resolution of deadlines. Durations at the switch are seconds, so 10 ms is exact enough. All deadlines of one tick
 * share one timer.
 */
const TICK_MS = 10;

/** The longest delay that `setTimeout` accepts. A later deadline is scheduled again when this has passed. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The monotonic clock and the single timer for deadlines. A test passes a clock that it advances itself. */
export interface Clock {
  /** Milliseconds since an arbitrary origin, never decreasing. */
  monotonicMs(): number;
  /** Calls back once after `delayMs`, unless the returned function is called first. */
  wakeAfter(delayMs: number, callback: () => void): () => void;
}

const monotonicClock: Clock = {
  monotonicMs: () => performance.now(),
  wakeAfter(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/**
 * An event at a given time, unless it is cancelled. It links itself into its tick, so scheduling allocates nothing.
 */
export abstract class Deadline {
  next: Deadline | undefined = undefined;
  previous: Deadline | undefined = undefined;

  abstract onDue(monotonicMs: number): void;

  get isScheduled(): boolean {
    return this.next !== undefined;
  }
}

/** A deadline that calls a function. */
export class Alarm extends Deadline {
  readonly #ring: (monotonicMs: number) => void;

  constructor(ring: (monotonicMs: number) => void) {
    super();
    this.#ring = ring;
  }

  override onDue(monotonicMs: number): void {
    this.#ring(monotonicMs);
  }
}

/** All deadlines of one tick: the head of a ring, in the order of scheduling. */
class Tick extends Deadline {
  readonly number: number;

  constructor(number: number) {
    super();
    this.number = number;
    this.next = this;
    this.previous = this;
  }

  get isEmpty(): boolean {
    return this.next === this;
  }

  append(deadline: Deadline): void {
    const last = this.previous!;
    last.next = deadline;
    deadline.previous = last;
    deadline.next = this;
    this.previous = deadline;
  }

  override onDue(): void {}
}

function unlink(deadline: Deadline): void {
  deadline.previous!.next = deadline.next;
  deadline.next!.previous = deadline.previous;
  deadline.next = undefined;
  deadline.previous = undefined;
}

/**
 * Every deadline of a process on one coarse monotonic clock. Scheduling and cancelling take constant time. An idle
 * process is woken only for ticks that had a deadline. A deadline never fires early, and at most a tick late.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #ticks = new Map<number, Tick>();
  /** The ticks by number, earliest first: at most one for each 10 ms of the longest deadline in use. */
  readonly #order: Tick[] = [];
  #scheduled = 0;
  #armedTick = Number.POSITIVE_INFINITY;
  #disarm: (() => void) | undefined = undefined;
  #lastRunTick = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  /** Calls `onDue` once at `dueAtMs` (a time of `monotonicMs`). A deadline that is already scheduled is moved. */
  schedule(deadline: Deadline, dueAtMs: number): void {
    assert(!Number.isNaN(dueAtMs), 'dueAtMs must be a number');
    if (deadline.isScheduled) unlink(deadline);
    else this.#scheduled++;
    const number = Math.max(Math.ceil(dueAtMs / TICK_MS), this.#lastRunTick + 1);
    const tick = this.#ticks.get(number) ?? this.#addTick(number);
    tick.append(deadline);
  }

  /** Does nothing if the deadline is not scheduled. If none is left, no timer keeps the process alive. */
  cancel(deadline: Deadline): void {
    if (!deadline.isScheduled) return;
    unlink(deadline);
    this.#scheduled--;
    if (this.#scheduled > 0) return;
    this.#order.length = 0;
    this.#ticks.clear();
    this.#rearm();
  }

  #addTick(number: number): Tick {
    const tick = new Tick(number);
    this.#ticks.set(number, tick);
    let at = this.#order.length;
    while (at > 0 && this.#order[at - 1]!.number > number) at--;
    this.#order.splice(at, 0, tick);
    if (number < this.#armedTick) this.#arm(number);
    return tick;
  }

  #arm(number: number): void {
    this.#disarm?.();
    this.#armedTick = number;
    const delayMs = Math.min(Math.max(number * TICK_MS - this.#clock.monotonicMs(), 0), LONGEST_TIMER_MS);
    this.#disarm = this.#clock.wakeAfter(Math.ceil(delayMs), this.#run);
  }

  readonly #run = (): void => {
    const monotonicMs = this.#clock.monotonicMs();
    const currentTick = Math.floor(monotonicMs / TICK_MS);
    this.#lastRunTick = currentTick;
    try {
      while (this.#order.length > 0 && this.#order[0]!.number <= currentTick) this.#ring(this.#order[0]!, monotonicMs);
    } finally {
      this.#rearm();
    }
  };

  #ring(tick: Tick, monotonicMs: number): void {
    while (!tick.isEmpty) {
      const deadline = tick.next!;
      unlink(deadline);
      this.#scheduled--;
      deadline.onDue(monotonicMs);
    }
    if (this.#order[0] === tick) this.#dropEarliest();
  }

  #rearm(): void {
    this.#disarm?.();
    this.#disarm = undefined;
    this.#armedTick = Number.POSITIVE_INFINITY;
    while (this.#order[0]?.isEmpty) this.#dropEarliest();
    const earliest = this.#order[0];
    if (earliest) this.#arm(earliest.number);
  }

  #dropEarliest(): void {
    const tick = this.#order.shift();
    if (tick) this.#ticks.delete(tick.number);
  }
}
