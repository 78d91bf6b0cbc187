import type { ClientCall } from './clients/client-call.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { HttpConnection, HttpEnd } from './http-connection.ts';
import type { Tally } from './tally.ts';

export interface OpenLoopOptions {
  /** When calls are due, in milliseconds from the start, ascending. */
  readonly dueTimes: Iterator<number>;
  /** Makes the call that is due next. */
  readonly makeCall: () => ClientCall;
  readonly lines: ConnectionPool;
  readonly tally: Tally;
  /** What has no answer by then is lost. */
  readonly answerWithinMs: number;
}

/** Calls made before they are due, in time that nothing else needs: a tap takes longer to seal than to send. */
const MADE_AHEAD = 64;
/** After so long the sockets get their turn, however much is due. */
const TURN_MS = 4;
/** Timers of Node are no finer. */
const LEAST_WAIT_MS = 1;
/** Calls that wait for a connection: beyond this many they would only fill the memory, and are given up. */
const MAX_WAITING = 100_000;
const SWEEP_EVERY_MS = 100;

interface Due {
  readonly call: ClientCall;
  /** By the monotonic clock. */
  readonly dueAtMs: number;
}

interface UnderWay {
  readonly line: HttpConnection;
  readonly sentAtMs: number;
}

/**
 * Sends calls when they are due, whatever became of those before. Latency counts from when a call was due, not from when it
 * left: what had to wait because the gateway was slow has waited (no coordinated omission).
 */
export class OpenLoop {
  readonly #options: OpenLoopOptions;
  readonly #made: ClientCall[] = [];
  /** Due, and without a connection. */
  readonly #waiting: Due[] = [];
  #waitingFrom = 0;
  /** In the order in which they were sent. */
  readonly #underWay = new Set<UnderWay>();
  #startAtMs = 0;
  #nextAtMs: number | undefined;
  #hasStopped = false;
  #giveUpAtMs = Number.POSITIVE_INFINITY;
  #finish: () => void = () => {};

  constructor(options: OpenLoopOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#underWay.size;
  }

  get waiting(): number {
    return this.#waiting.length - this.#waitingFrom;
  }

  /** Resolves when every call has ended. @param startAtMs by the monotonic clock */
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

  /** Sends nothing more. What is under way may still be answered for so long, and is abandoned then. */
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
    if (done) this.#giveUpAtMs = performance.now() + this.#options.answerWithinMs;
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
    const { lines, tally } = this.#options;
    tally.count('due');
    const line = lines.take();
    if (line === undefined) {
      if (this.waiting < MAX_WAITING) this.#waiting.push(due);
      else tally.count('unsent', 'too many wait for a connection');
      return;
    }
    tally.recordLag(performance.now() - due.dueAtMs);
    this.#send(due, due.call, line);
    tally.count('sent');
  }

  #send(due: Due, call: ClientCall, line: HttpConnection): void {
    const underWay = { line, sentAtMs: performance.now() };
    this.#underWay.add(underWay);
    this.#options.tally.count('requests');
    line.send(call.request, (end) => {
      this.#underWay.delete(underWay);
      this.#onEnd(due, call, line, end);
    });
  }

  #onEnd(due: Due, call: ClientCall, line: HttpConnection, end: HttpEnd): void {
    const { lines, tally } = this.#options;
    if (end.kind === 'answered') {
      const read = call.read(end);
      if ('request' in read) {
        this.#follow(due, read, line);
        return;
      }
      tally.countAnswer(call.scenario, read, performance.now() - due.dueAtMs);
    } else this.#countFailure(call === due.call ? end.kind : 'lost', end.reason);
    lines.putBack(line);
    this.#serveWaiting();
    this.#endIfDone();
  }

  #countFailure(kind: 'lost' | 'unsent', reason: string): void {
    const { tally } = this.#options;
    if (kind === 'unsent') tally.takeBack('sent');
    if (this.#hasStopped && reason === GIVEN_UP) tally.count(kind === 'lost' ? 'abandoned' : 'unsent');
    else tally.count(kind, reason);
  }

  /** The next request of the same call: on the same connection, unless that has ended with the answer. */
  #follow(due: Due, call: ClientCall, line: HttpConnection): void {
    const { lines } = this.#options;
    if (line.isUsable) {
      this.#send(due, call, line);
      return;
    }
    lines.putBack(line);
    const other = lines.take();
    if (other !== undefined) this.#send(due, call, other);
    else {
      this.#countFailure('lost', 'no connection for the second step');
      this.#endIfDone();
    }
  }

  #serveWaiting(): void {
    while (this.waiting > 0) {
      const line = this.#options.lines.take();
      if (line === undefined) break;
      const due = this.#waiting[this.#waitingFrom++]!;
      this.#options.tally.count('sent');
      this.#send(due, due.call, line);
    }
    this.#forgetServed();
  }

  /** Those at the front that were sent, once they are half of all: while more is due than can be sent, some always wait. */
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

  /** Ends what waits too long. */
  #sweep(): void {
    const nowMs = performance.now();
    const isOver = nowMs >= this.#giveUpAtMs;
    if (isOver) this.#dropWaiting('the test was over');
    for (const { line, sentAtMs } of [...this.#underWay]) {
      const isLate = nowMs - sentAtMs >= this.#options.answerWithinMs;
      if (!isLate && !isOver) return;
      line.close(isLate ? 'no answer in time' : GIVEN_UP);
    }
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (this.#nextAtMs === undefined && this.#underWay.size === 0 && this.waiting === 0) this.#finish();
  }
}

/** At the end of a test that was stopped by hand. */
const GIVEN_UP = 'given up';
