import type { ClientCall } from './clients/fleet.ts';
import type { ConnectionPool, HttpConnection, HttpEnd } from './connection-pool.ts';
import type { Tally } from './tally.ts';

/** Calls that are made before they are due, in idle time: sealing a tap takes longer than sending it. */
const MADE_AHEAD = 64;
/** After this time the loop yields to the sockets, even if more calls are due. */
const TURN_MS = 4;
/** The resolution of Node's timers. */
const LEAST_WAIT_MS = 1;
/** Calls that wait for a connection: beyond this number they would only fill the memory, so they are given up. */
const MAX_WAITING = 100_000;
const SWEEP_EVERY_MS = 100;

interface Due {
  readonly call: ClientCall;
  /** Monotonic time. */
  readonly dueAtMs: number;
}

interface UnderWay {
  readonly connection: HttpConnection;
  readonly sentAtMs: number;
}

/**
 * Sends calls when they are due, regardless of the outcome of earlier calls. Latency counts from the time at which a
 * call was due, not from its sending. So waiting caused by a slow gateway is included (no coordinated omission).
 */
export class OpenLoop {
  readonly #options;
  readonly #made: ClientCall[] = [];
  /** Due calls without a connection. */
  readonly #waiting: Due[] = [];
  #waitingFrom = 0;
  /** Calls in progress, in the order in which they were sent. */
  readonly #underWay = new Set<UnderWay>();
  #startAtMs = 0;
  #nextAtMs: number | undefined;
  #hasStopped = false;
  #giveUpAtMs = Number.POSITIVE_INFINITY;
  #finish: () => void = () => {};

  constructor(options: {
    /** Times at which calls are due, in milliseconds from the start, ascending. */
    readonly dueTimes: Iterator<number>;
    /** Makes the call that is due next. */
    readonly makeCall: () => ClientCall;
    readonly pool: ConnectionPool;
    readonly tally: Tally;
    /** A call without a response within this time counts as lost. */
    readonly responseWithinMs: number;
  }) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#underWay.size;
  }

  get waiting(): number {
    return this.#waiting.length - this.#waitingFrom;
  }

  /** Resolves when every call has ended. @param startAtMs monotonic time */
  async run(startAtMs: number): Promise<void> {
    this.#startAtMs = startAtMs;
    this.#advance();
    const sweep = setInterval(() => this.#sweep(), SWEEP_EVERY_MS);
    const finished = new Promise<void>((resolve) => {
      this.#finish = resolve;
    });
    this.#turn();
    await finished;
    clearInterval(sweep);
  }

  /** Sends no further calls. Calls in progress may receive a response within this time, and are then abandoned. */
  stop(withinMs: number): void {
    this.#hasStopped = true;
    this.#nextAtMs = undefined;
    this.#giveUpAtMs = performance.now() + withinMs;
    this.#dropWaiting('stopped');
    this.#endIfDone();
  }

  #advance(): void {
    const { value, done } = this.#options.dueTimes.next();
    this.#nextAtMs = done ? undefined : this.#startAtMs + value;
    if (done) this.#giveUpAtMs = performance.now() + this.#options.responseWithinMs;
  }

  #turn(): void {
    const endsAtMs = performance.now() + TURN_MS;
    let nowMs = performance.now();
    while (this.#nextAtMs !== undefined && this.#nextAtMs <= nowMs && nowMs < endsAtMs) {
      this.#dispatch({ call: this.#made.shift() ?? this.#options.makeCall(), dueAtMs: this.#nextAtMs });
      this.#advance();
      nowMs = performance.now();
    }
    if (this.#nextAtMs === undefined) {
      this.#endIfDone();
      return;
    }
    while (this.#nextAtMs > nowMs && this.#made.length < MADE_AHEAD && nowMs < endsAtMs) {
      this.#made.push(this.#options.makeCall());
      nowMs = performance.now();
    }
    if (this.#nextAtMs <= nowMs) setImmediate(() => this.#turn());
    else setTimeout(() => this.#turn(), Math.max(LEAST_WAIT_MS, Math.floor(this.#nextAtMs - nowMs)));
  }

  #dispatch(due: Due): void {
    const { pool, tally } = this.#options;
    tally.count('due');
    const connection = pool.take();
    if (connection === undefined) {
      if (this.waiting < MAX_WAITING) this.#waiting.push(due);
      else tally.count('unsent', 'too many wait for a connection');
      return;
    }
    tally.recordLag(performance.now() - due.dueAtMs);
    this.#send(due, due.call, connection);
    tally.count('sent');
  }

  #send(due: Due, call: ClientCall, connection: HttpConnection): void {
    const underWay = { connection, sentAtMs: performance.now() };
    this.#underWay.add(underWay);
    this.#options.tally.count('requests');
    connection.send(call.request, (end) => {
      this.#underWay.delete(underWay);
      this.#onEnd(due, call, connection, end);
    });
  }

  #onEnd(due: Due, call: ClientCall, connection: HttpConnection, end: HttpEnd): void {
    const { pool, tally } = this.#options;
    if (end.kind === 'responded') {
      const read = call.read(end);
      if ('request' in read) {
        this.#follow(due, read, connection);
        return;
      }
      tally.countResponse(call.scenario, read, performance.now() - due.dueAtMs);
    } else this.#countFailure(call === due.call ? end.kind : 'lost', end.reason);
    pool.putBack(connection);
    this.#serveWaiting();
    this.#endIfDone();
  }

  #countFailure(kind: 'lost' | 'unsent', reason: string): void {
    const { tally } = this.#options;
    if (kind === 'unsent') tally.uncount('sent');
    if (this.#hasStopped && reason === GIVEN_UP) tally.count(kind === 'lost' ? 'abandoned' : 'unsent');
    else tally.count(kind, reason);
  }

  /** Sends the next request of the same call: on the same connection, unless it was closed with the response. */
  #follow(due: Due, call: ClientCall, connection: HttpConnection): void {
    const { pool } = this.#options;
    if (connection.isUsable) {
      this.#send(due, call, connection);
      return;
    }
    pool.putBack(connection);
    const other = pool.take();
    if (other !== undefined) this.#send(due, call, other);
    else {
      this.#countFailure('lost', 'no connection for the second step');
      this.#endIfDone();
    }
  }

  #serveWaiting(): void {
    while (this.waiting > 0) {
      const connection = this.#options.pool.take();
      if (connection === undefined) break;
      const due = this.#waiting[this.#waitingFrom++]!;
      this.#options.tally.count('sent');
      this.#send(due, due.call, connection);
    }
    this.#forgetServed();
  }

  /**
   * Removes the sent calls at the front once they are half of all. If more is due than can be sent, some calls always
   * wait.
   */
  #forgetServed(): void {
    if (this.#waitingFrom < this.#waiting.length / 2) return;
    this.#waiting.splice(0, this.#waitingFrom);
    this.#waitingFrom = 0;
  }

  #dropWaiting(reason: string): void {
    for (let left = this.waiting; left > 0; left--) this.#options.tally.count('unsent', reason);
    this.#waiting.length = 0;
    this.#waitingFrom = 0;
  }

  /** Ends calls that have waited too long. */
  #sweep(): void {
    const nowMs = performance.now();
    const isOver = nowMs >= this.#giveUpAtMs;
    if (isOver) this.#dropWaiting('the test ended');
    for (const { connection, sentAtMs } of [...this.#underWay]) {
      const isLate = nowMs - sentAtMs >= this.#options.responseWithinMs;
      if (!isLate && !isOver) return;
      connection.close(isLate ? 'no response in time' : GIVEN_UP);
    }
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#nextAtMs === undefined && this.#underWay.size === 0 && this.waiting === 0) this.#finish();
  }
}

/** Reason of calls that were in progress when the user stopped the test. */
const GIVEN_UP = 'given up';
