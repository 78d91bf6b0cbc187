import { CryptoError, type CryptoErrorCode, HsmUnavailable } from '../../basics/errors.ts';
import { Shares } from '../../basics/limits/concurrency-limit.ts';
import { LogBudget } from '../../basics/limits/log-budget.ts';
import { isTimeout, within } from '../../basics/limits/waits.ts';
import type { RoundTripHistogram } from '../connection/pool-stats.ts';
import type { ConnectionLog } from '../connection/pool-types.ts';

/**
 * - `ready`: takes commands.
 * - `starting`: its diagnostics have not passed yet.
 * - `unreachable`: no connection is open.
 * - `circuitOpen`: failed repeatedly; takes no commands until its diagnostics pass.
 * - `wrongLmk`: its local master key is not the configured one; takes no commands.
 */
export type HsmDeviceStatus = 'ready' | 'starting' | 'unreachable' | 'circuitOpen' | 'wrongLmk';

/** The state of one device, for metrics, health and doctor. Counters only increase. */
export interface HsmDeviceState {
  /** One of several interchangeable devices, a service with redundancy of its own, or a PKCS #11 token. */
  readonly kind: 'device' | 'service' | 'token';
  readonly name: string;
  /** `host:port`. */
  readonly address: string;
  readonly status: HsmDeviceStatus;
  /** Open connections, of the configured number. */
  readonly connectionsReady: number;
  readonly connections: number;
  /** Commands without a response, and commands that wait for a connection. */
  readonly outstanding: number;
  readonly queued: number;
  readonly succeeded: number;
  /** Failed commands by code of HsmDeviceError. */
  readonly failures: Readonly<Record<string, number>>;
  /** Refused commands by error code of the manual. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Connections that ended. */
  readonly connectionsLost: number;
  /** Times that the circuit opened. */
  readonly circuitOpenings: number;
  /** The last failure in words: device, command and error code. */
  readonly lastFailure: string | undefined;
  /** The firmware that the last passed diagnostics reported. */
  readonly firmware: string | undefined;
  readonly lmkCheckValue: string | undefined;
  readonly roundTrips: RoundTripHistogram;
}

/** Implemented by an HSM with devices on the network. */
export interface HsmDevices {
  deviceStates(): readonly HsmDeviceState[];
}

/**
 * An HSM needs milliseconds. Three seconds leave most of `RESPONSE_SLACK_SECONDS`, and the cardholder is still at the
 * till.
 */
const LIMIT_MS = 3_000;
const LINES_PER_SECOND = 1;

/** Holder of the calls of a switch. Acquirers have numbers from 1. */
const UNSHARED = 0;

/** What the calls are for: logged if one fails. */
type HsmPurpose = 'PIN' | 'MAC' | 'card data';

/**
 * Concurrent calls for one switch. PINs: at 20 ms each, more than ten thousand a second. MACs: two for each request in
 * flight, and one for each late response that is being looked up. Card data, for all acquirers of the process: one that
 * is alone has half of them, which is as many as for PINs, with two calls for each tap.
 */
const MAX_UNDER_WAY: Readonly<Record<HsmPurpose, number>> = {
  PIN: 256,
  MAC: 4_096,
  'card data': 1_024,
};

/**
 * Calls that were given up and have not ended, as a multiple of the concurrent ones. They take memory until the HSM ends
 * them, and a module that never does must not take all of it.
 */
const MAX_GIVEN_UP = 4;

/** The HSM responds, but does not have the key as it was configured: it was removed, replaced, or is of another use. */
const ABOUT_THE_KEY: ReadonlySet<CryptoErrorCode> = new Set([
  'KEY_UNKNOWN',
  'KEY_USAGE',
  'KEY_LENGTH',
  'KEY_CHECK_VALUE',
]);

/** Of one call. */
interface HsmCallSubject {
  /** Whose share the call takes, if acquirers share the calls. */
  readonly acquirerId?: number | undefined;
  /** Logged if the HSM cannot use it. */
  readonly keyId?: string | undefined;
}

/**
 * The calls to the HSM for one purpose, each within a limit. An HSM that hangs delays only those that
 * need it, by a few seconds. If acquirers share them, each has its share: slow calls of one acquirer's keys keep none of
 * another acquirer out.
 */
export class HsmCalls {
  readonly #options;
  readonly #budget = new LogBudget(LINES_PER_SECOND);
  readonly #underWay: Shares;
  readonly #givenUp: Shares;
  #failed = 0;

  constructor(options: {
    /** Logged with each failure: the processor whose calls these are. */
    readonly owner?: object | undefined;
    readonly purpose: HsmPurpose;
    readonly clock: { monotonicMs(): number };
    readonly log: Pick<ConnectionLog, 'warn'>;
    readonly limitMs?: number | undefined;
  }) {
    this.#options = options;
    const most = MAX_UNDER_WAY[options.purpose];
    this.#underWay = new Shares(most);
    this.#givenUp = new Shares(most * MAX_GIVEN_UP);
  }

  /** Calls that the HSM did not take, whose key it cannot use, or to which it did not respond in time; only increases. */
  get failed(): number {
    return this.#failed;
  }

  /** @throws HsmUnavailable if the HSM does not respond in time or too many calls wait for it; else what `call` throws */
  async run<Value>(call: () => Promise<Value>, subject: HsmCallSubject = {}): Promise<Value> {
    const { acquirerId } = subject;
    const { limitMs = LIMIT_MS } = this.#options;
    const isFull = (shares: Shares) => (acquirerId === undefined ? shares.free <= 0 : shares.isAtShare(acquirerId));
    if (isFull(this.#underWay) || isFull(this.#givenUp)) throw this.#failure('BUSY', subject);
    const holder = acquirerId ?? UNSHARED;
    this.#underWay.hold(holder);
    const called = Promise.try(call);
    try {
      return await within(limitMs, called);
    } catch (cause) {
      if (isTimeout(cause)) {
        this.#giveUp(called, holder);
        throw this.#failure('TIMEOUT', subject, cause);
      }
      if (cause instanceof CryptoError && ABOUT_THE_KEY.has(cause.code)) this.#failure(cause.code, subject);
      throw cause instanceof HsmUnavailable ? this.#failure('UNAVAILABLE', subject, cause) : cause;
    } finally {
      this.#underWay.release(holder);
    }
  }

  #giveUp(called: Promise<unknown>, holder: number): void {
    this.#givenUp.hold(holder);
    const end = () => this.#givenUp.release(holder);
    called.then(end, end);
  }

  #failure(code: string, { acquirerId, keyId }: HsmCallSubject, cause?: unknown): HsmUnavailable {
    const { owner, purpose, clock, log } = this.#options;
    this.#failed++;
    this.#budget.spend(clock.monotonicMs(), (suppressed) =>
      log.warn(
        { ...owner, ...(acquirerId !== undefined && { acquirerId }), purpose, code, keyId, suppressed },
        'HSM call failed',
      ),
    );
    return new HsmUnavailable({ cause });
  }
}
