import { ConnectionError, type ConnectionErrorCode } from '../../basics/errors.ts';
import type { ProtocolConnection, SessionStep, SwitchProtocol } from '../../codecs/iso8583/network/switch-protocol.ts';
import type { Connection } from './connection.ts';
import { Alarm, type Deadlines } from './deadlines.ts';
import type { CloseCause, PoolTimeouts } from './pool-types.ts';

/**
 * One missing response can be the issuer's fault, and so can two. Three without a response in between are the
 * connection's.
 */
const TIMEOUTS_IN_A_ROW = 3;

/**
 * Silence counts after this many typical round trips. A fault on a fast connection is found soon, before many
 * requests are lost.
 */
const ROUND_TRIPS = 8;
/** A shorter silence is a pause of the network or of this process. */
const LEAST_SUSPECT_MS = 250;
/** Weight of the last round trip in the average. */
const WEIGHT_OF_LAST = 1 / 8;

type Watched = Pick<
  Connection<unknown>,
  'silentSinceAtMs' | 'timeoutsInARow' | 'lastTimeoutAtMs' | 'typicalRoundTripMs'
>;

/**
 * Whether a connection may be dead, so that others are preferred: it has read nothing for a while although requests
 * were written, or consecutive requests reached their deadlines. It stays open and signed on. The next frame that it
 * reads ends the first condition; a response to a request, or time, ends the second.
 *
 * A false suspicion costs an echo and a detour, so the limit is low. If there is no other connection, nothing
 * changes.
 */
export function isSuspect(connection: Watched, monotonicMs: number, timeouts: PoolTimeouts): boolean {
  return monotonicMs >= silentAtMs(connection, timeouts) || isAvoided(connection, monotonicMs, timeouts);
}

/** The time from which a connection counts as silent if it reads nothing; infinite while no request was written. */
function silentAtMs({ silentSinceAtMs, typicalRoundTripMs }: Watched, { suspectMs }: PoolTimeouts): number {
  if (silentSinceAtMs === undefined) return Number.POSITIVE_INFINITY;
  const typicalMs = typicalRoundTripMs === undefined ? suspectMs : typicalRoundTripMs * ROUND_TRIPS;
  // An infinite limit stays infinite.
  const afterMs = Number.isFinite(suspectMs) ? Math.min(Math.max(typicalMs, LEAST_SUSPECT_MS), suspectMs) : suspectMs;
  return silentSinceAtMs + afterMs;
}

function isAvoided(
  { timeoutsInARow, lastTimeoutAtMs }: Watched,
  monotonicMs: number,
  { avoidMs }: PoolTimeouts,
): boolean {
  return timeoutsInARow >= TIMEOUTS_IN_A_ROW && monotonicMs - lastTimeoutAtMs < avoidMs;
}

export function noteResponse(connection: Watched, roundTripMs: number): void {
  connection.timeoutsInARow = 0;
  const typicalMs = connection.typicalRoundTripMs ?? roundTripMs;
  connection.typicalRoundTripMs = typicalMs + (roundTripMs - typicalMs) * WEIGHT_OF_LAST;
}

export function noteTimeout(connection: Watched, monotonicMs: number): void {
  connection.timeoutsInARow++;
  connection.lastTimeoutAtMs = monotonicMs;
}

const NOT_SENT: ConnectionErrorCode = 'NOT_SENT';

/**
 * The session of one connection: sign-on before it is ready, an echo if it has read nothing for a while, and sign-off
 * at the end. A step that fails or takes too long ends the connection.
 */
export class Session<Message> implements ProtocolConnection<Message> {
  readonly connectionId: string;
  readonly #connection: Connection<Message>;
  readonly #protocol: SwitchProtocol<Message>;
  readonly #timeouts: PoolTimeouts;
  readonly #deadlines: Deadlines;
  readonly #onSuspend: () => boolean;
  readonly #onSignedOn: () => void;
  readonly #onSilence: (isSilent: boolean) => void;
  readonly #watch: Alarm;
  #lookAtMs = Number.POSITIVE_INFINITY;
  #isSigningOn = false;
  #isSigningOff = false;
  /** Limit of one exchange: the full time of the current step. */
  #exchangeMs: number;

  constructor(
    connection: Connection<Message>,
    parts: {
      readonly protocol: SwitchProtocol<Message>;
      readonly timeouts: PoolTimeouts;
      readonly deadlines: Deadlines;
      /**
       * Called when the connection must get no new requests for now; returns false if its state does not allow
       * another sign-on.
       */
      readonly onSuspend: () => boolean;
      readonly onSignedOn: () => void;
      /** Called when the connection is silent, and when it has responded to the echo that was sent for this reason. */
      readonly onSilence: (isSilent: boolean) => void;
    },
  ) {
    this.connectionId = connection.id;
    this.#connection = connection;
    this.#protocol = parts.protocol;
    this.#timeouts = parts.timeouts;
    this.#deadlines = parts.deadlines;
    this.#onSuspend = parts.onSuspend;
    this.#onSignedOn = parts.onSignedOn;
    this.#onSilence = parts.onSilence;
    this.#exchangeMs = parts.timeouts.signOnMs;
    this.#watch = new Alarm(() => void this.#look());
  }

  /** Signs on; the connection is then marked ready, or destroyed. */
  async open(): Promise<void> {
    if (this.#isSigningOn) return;
    this.#isSigningOn = true;
    this.#deadlines.cancel(this.#watch);
    const { signOn } = this.#protocol;
    const isAccepted = !signOn || (await this.#take(signOn, this.#timeouts.signOnMs, 'signOnFailed'));
    this.#isSigningOn = false;
    if (!isAccepted || this.#connection.isClosed) return;
    this.#onSignedOn();
    this.#lookAgainAt(this.#quietEndsAtMs());
  }

  signOnAgain(): void {
    if (this.#isSigningOn || !this.#onSuspend()) return;
    void this.open();
  }

  /**
   * The first request since the last frame was read has been written. Without a response, the connection is checked
   * soon.
   */
  noteAsked(): void {
    const atMs = silentAtMs(this.#connection, this.#timeouts);
    if (this.#protocol.echo && this.#watch.isScheduled && atMs < this.#lookAtMs) this.#lookAgainAt(atMs);
  }

  async exchange(request: Message): Promise<Message> {
    const result = await this.#connection.exchange(request, this.#exchangeMs);
    if (result.kind === 'responded') return result.response;
    throw new ConnectionError('EXCHANGE_FAILED', result.kind === 'failed' ? result.reason : result.kind);
  }

  /** Signs off as far as the switch cooperates, and ends the connection. */
  async close(): Promise<void> {
    if (this.#isSigningOff) return;
    this.#isSigningOff = true;
    this.stop();
    const { signOff } = this.#protocol;
    if (signOff && !this.#connection.isClosed) await this.#take(signOff, this.#timeouts.signOffMs, 'drained');
    this.#connection.destroy({ cause: 'drained' });
  }

  /** Stops watching a connection that has ended. */
  stop(): void {
    this.#deadlines.cancel(this.#watch);
  }

  /** When to send an echo on a connection that reads nothing, or to give it up if the switch has no echo. */
  #quietEndsAtMs(): number {
    const { lastReadAtMs, silentSinceAtMs } = this.#connection;
    if (this.#protocol.echo) {
      return Math.min(lastReadAtMs + this.#timeouts.idleEchoMs, silentAtMs(this.#connection, this.#timeouts));
    }
    return (silentSinceAtMs ?? this.#deadlines.monotonicMs()) + this.#timeouts.silenceMs;
  }

  #lookAgainAt(atMs: number): void {
    if (this.#connection.isClosed) return;
    this.#lookAtMs = atMs;
    this.#deadlines.schedule(this.#watch, atMs);
  }

  async #look(): Promise<void> {
    const quietEndsAtMs = this.#quietEndsAtMs();
    if (this.#deadlines.monotonicMs() < quietEndsAtMs) return this.#lookAgainAt(quietEndsAtMs);
    const { echo } = this.#protocol;
    if (!echo) return this.#connection.destroy({ cause: 'silence' });
    const { echoMs, suspectEchoMs } = this.#timeouts;
    const wasSilent = this.#deadlines.monotonicMs() >= silentAtMs(this.#connection, this.#timeouts);
    if (wasSilent) this.#onSilence(true);
    const timeoutMs = wasSilent ? Math.max(echoMs, suspectEchoMs) : echoMs;
    const failure = await this.#attemptWithin(echo, timeoutMs);
    // Nothing was asked, so the silence proves nothing: requests in flight may still receive a response.
    if (failure === NOT_SENT) return this.#lookAgainAt(this.#deadlines.monotonicMs() + echoMs);
    if (failure !== '') return this.#connection.destroy({ cause: 'echoFailed', detail: failure });
    if (wasSilent) this.#onSilence(false);
    this.#lookAgainAt(this.#quietEndsAtMs());
  }

  /** Runs a step within its time. If the step is refused, throws or hangs, the connection ends. */
  async #take(step: SessionStep<Message>, timeoutMs: number, cause: CloseCause): Promise<boolean> {
    const failure = await this.#attemptWithin(step, timeoutMs);
    if (failure === '') return true;
    this.#connection.destroy({ cause, detail: failure });
    return false;
  }

  async #attemptWithin(step: SessionStep<Message>, timeoutMs: number): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const alarm = new Alarm(() => resolve('timeout'));
    this.#exchangeMs = timeoutMs;
    this.#deadlines.schedule(alarm, this.#deadlines.monotonicMs() + timeoutMs);
    this.#attempt(step).then(resolve);
    const failure = await promise;
    this.#deadlines.cancel(alarm);
    return failure;
  }

  /** @returns why the step failed, as a name; the empty text if it was accepted */
  async #attempt(step: SessionStep<Message>): Promise<string> {
    try {
      const result = await step(this);
      if (result === true) return '';
      return result === false ? 'refused' : `refused with ${result}`;
    } catch (error) {
      return causeOf(error);
    }
  }
}

/** A name for what a step threw. Its text is not used, because it is not trusted. */
function causeOf(error: unknown): string {
  if (error instanceof ConnectionError) return error.code;
  return error instanceof Error ? error.name : 'error';
}
