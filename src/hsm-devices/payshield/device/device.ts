import { HsmDeviceError, type HsmDeviceErrorCode } from '../../../basics/errors.ts';
import { Backoff, type Repetition, repeatEvery } from '../../../basics/limits/waits.ts';
import { RoundTrips } from '../../../switching/connection/pool-stats.ts';
import type { SwitchAddress, SwitchTls } from '../../../switching/connection/switch-socket.ts';
import type { HsmDeviceState, HsmDeviceStatus } from '../../../switching/hsm/hsm-calls.ts';
import { blameOf, COMMAND_DISABLED, type HostCommand, type SendCommand } from '../host-command.ts';
import { type Diagnostics, deviceStatus, diagnostics, echo } from '../payshield-commands.ts';
import { CommandQueue } from './command-queue.ts';
import { DeviceConnection } from './connection.ts';

interface CircuitLimits {
  /** Consecutive failures that open the circuit. */
  readonly failuresToOpen: number;
  /** The time before the first trial; doubles with each circuit that opens without a success in between. */
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Takes a failing device out of use. While the circuit is open, only diagnostics are sent to the device. */
class CircuitBreaker {
  readonly #limits: CircuitLimits;
  #failures = 0;
  #openings = 0;
  #closableAtMs: number | undefined;

  constructor(limits: CircuitLimits) {
    this.#limits = limits;
  }

  get isOpen(): boolean {
    return this.#closableAtMs !== undefined;
  }

  /** Whether diagnostics may close the circuit. */
  mayClose(monotonicMs: number): boolean {
    return this.#closableAtMs !== undefined && monotonicMs >= this.#closableAtMs;
  }

  /** A command was carried out. */
  succeeded(): void {
    if (this.isOpen) return;
    this.#failures = 0;
    this.#openings = 0;
  }

  /** @returns whether this failure opened the circuit */
  failed(monotonicMs: number): boolean {
    if (this.isOpen || ++this.#failures < this.#limits.failuresToOpen) return false;
    const { firstMs, mostMs } = this.#limits;
    this.#closableAtMs = monotonicMs + Math.min(mostMs, firstMs * 2 ** Math.min(this.#openings++, 20));
    return true;
  }

  /**
   * Diagnostics have passed. The next commands decide: a device that passes its diagnostics and fails commands opens the
   * circuit again, for longer.
   */
  close(): void {
    this.#closableAtMs = undefined;
    this.#failures = 0;
  }
}

const ECHO_DATA = 'TAPWIRE0123456789';

/**
 * Checks a device without keys: NC runs its diagnostics, NO reads its status, B2 echoes. An operator may disable host commands
 * (error 68); NO and B2 are then not checked.
 *
 * @param expectedLmk check value of the local master key, if the configuration names it
 * @throws HsmDeviceError
 */
async function checkHealth(send: SendCommand, name: string, expectedLmk: string | undefined): Promise<Diagnostics> {
  const result = await send(diagnostics());
  if (expectedLmk !== undefined && !result.lmkCheckValue.startsWith(expectedLmk)) {
    throw new HsmDeviceError('WRONG_LMK', `${name}, NC`);
  }
  await unlessDisabled(send(deviceStatus()));
  await unlessDisabled(send(echo(ECHO_DATA)));
  return result;
}

async function unlessDisabled(sent: Promise<unknown>): Promise<void> {
  await sent.catch((error) => {
    if (!(error instanceof HsmDeviceError) || error.errorCode !== COMMAND_DISABLED) throw error;
  });
}

/** Thousands of commands a second at 20 ms each; a longer queue only makes responses late. */
const MAX_OUTSTANDING = 64;
const MAX_QUEUED = 256;
const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT = { firstMs: 100, mostMs: 5_000 };
const CIRCUIT = { failuresToOpen: 5, firstMs: 1_000, mostMs: 60_000 };
const HEALTH_EVERY_MS = 10_000;
/** While a device takes no commands. */
const RECOVERY_EVERY_MS = 500;
const HEALTH_TIMEOUT_MS = 2_000;
/** The gateway's own turn in the queue. */
const HEALTH_CHECK = 'health check';

/** Failures that do not show that other commands fail: a full queue, or a response whose fields are not as expected. */
const OF_ONE_COMMAND: readonly HsmDeviceErrorCode[] = ['BUSY', 'RESPONSE_INVALID'];
/** The end of a connection fails all of its commands, and is one failure of the device. */
const OF_A_CONNECTION: readonly HsmDeviceErrorCode[] = ['CONNECTION_LOST', 'FRAME_INVALID'];
const NOT_OF_THE_DEVICE: ReadonlySet<HsmDeviceErrorCode> = new Set([...OF_ONE_COMMAND, ...OF_A_CONNECTION]);

export interface DeviceLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

/**
 * One device with its connections. It takes commands after its diagnostics (NC, NO, B2) have passed, and until it fails
 * repeatedly.
 */
export class Device {
  readonly name: string;
  /** Resolves when its first diagnostics have passed or failed, or it cannot be reached. */
  readonly started: Promise<void>;
  readonly #options;
  readonly #connections: (DeviceConnection | undefined)[] = [];
  readonly #reconnects = new Set<NodeJS.Timeout>();
  readonly #queue: CommandQueue;
  readonly #breaker = new CircuitBreaker(CIRCUIT);
  readonly #roundTrips = new RoundTrips();
  readonly #failures: Record<string, number> = {};
  readonly #refusals: Record<string, number> = {};
  readonly #health: Repetition;
  #hasStarted: () => void = () => {};
  #diagnostics: Diagnostics | undefined;
  /** Since a connection opened while none was open: another device may have taken the address. */
  #hasPassed = false;
  #hasWrongLmk = false;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  #succeeded = 0;
  #connectionsLost = 0;
  #circuitOpenings = 0;
  #lastFailure: string | undefined;

  constructor(options: {
    readonly name: string;
    readonly address: SwitchAddress;
    readonly tls?: SwitchTls | undefined;
    readonly connections: number;
    readonly headerLength: number;
    readonly expectedLmk?: string | undefined;
    readonly log: DeviceLog;
  }) {
    this.name = options.name;
    this.#options = options;
    this.#queue = new CommandQueue(options.name, MAX_QUEUED);
    this.started = new Promise((resolve) => {
      this.#hasStarted = resolve;
    });
    for (let at = 0; at < options.connections; at++) this.#connect(at, new Backoff(RECONNECT));
    this.#health = repeatEvery(RECOVERY_EVERY_MS, () => this.#checkIfDue());
  }

  get status(): HsmDeviceStatus {
    const isConnected = this.#connections.some((each) => each?.state === 'ready');
    if (!isConnected) return this.#connectionsLost === 0 ? 'starting' : 'unreachable';
    if (this.#hasWrongLmk) return 'wrongLmk';
    if (this.#breaker.isOpen) return 'circuitOpen';
    return this.#hasPassed ? 'ready' : 'starting';
  }

  /** Commands with and without a response. */
  get load(): number {
    return this.#outstanding() + this.#queue.length;
  }

  /**
   * Carries out a command.
   *
   * @param user whose command it is: users of a busy device take turns
   * @throws HsmDeviceError
   */
  async call<Result>(command: HostCommand<Result>, user: string, timeoutMs: number): Promise<Result> {
    const startedAtMs = performance.now();
    try {
      const result = await this.#send(command, user, timeoutMs);
      this.#succeeded++;
      this.#breaker.succeeded();
      this.#roundTrips.record(performance.now() - startedAtMs);
      return result;
    } catch (error) {
      if (error instanceof HsmDeviceError) this.#count(error);
      throw error;
    }
  }

  state(): HsmDeviceState {
    const { address, connections } = this.#options;
    return {
      kind: 'device',
      name: this.name,
      address: `${address.host}:${address.port}`,
      status: this.status,
      connectionsReady: this.#connections.filter((each) => each?.state === 'ready').length,
      connections,
      outstanding: this.#outstanding(),
      queued: this.#queue.length,
      succeeded: this.#succeeded,
      failures: { ...this.#failures },
      refusals: { ...this.#refusals },
      connectionsLost: this.#connectionsLost,
      circuitOpenings: this.#circuitOpenings,
      lastFailure: this.#lastFailure,
      firmware: this.#diagnostics?.firmware,
      lmkCheckValue: this.#diagnostics?.lmkCheckValue,
      roundTrips: this.#roundTrips.snapshot(),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#reconnects) clearTimeout(timer);
    for (const connection of this.#connections) connection?.close();
    this.#queue.rejectAll(new HsmDeviceError('CLOSED', this.name));
    await this.#health.stop();
  }

  async #send<Result>(command: HostCommand<Result>, user: string, timeoutMs: number): Promise<Result> {
    const free = this.#freeConnection();
    if (free !== undefined && this.#queue.length === 0) return free.send(command, timeoutMs);
    if (!this.#isReachable()) throw new HsmDeviceError('UNREACHABLE', `${this.name}, ${command.code}`);
    return this.#queue.add(command, user, timeoutMs);
  }

  #freeConnection(): DeviceConnection | undefined {
    let least: DeviceConnection | undefined;
    for (const each of this.#connections) {
      if (each?.canSend && (least === undefined || each.outstanding < least.outstanding)) least = each;
    }
    return least;
  }

  #sendQueued(): void {
    for (let free = this.#freeConnection(); free !== undefined; free = this.#freeConnection()) {
      if (!this.#queue.sendNext(free)) return;
    }
  }

  #connect(at: number, backoff: Backoff): void {
    const { name, address, tls, headerLength } = this.#options;
    let wasOpen = false;
    this.#connections[at] = new DeviceConnection({
      name,
      address,
      tls,
      headerLength,
      mostOutstanding: MAX_OUTSTANDING,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      onOpen: () => {
        wasOpen = true;
        if (!this.#hasPassed) this.#health.runSoon();
        this.#sendQueued();
      },
      onFree: () => {
        backoff.reset();
        this.#sendQueued();
      },
      onClosed: (error, withoutResponse) => {
        if (this.#isClosed) return;
        if (withoutResponse > 0) this.#blame(error);
        this.#connectionsLost++;
        this.#hasStarted();
        this.#lastFailure = error.message;
        if (wasOpen) this.#options.log.warn({ device: name, code: error.code }, 'HSM connection lost');
        this.#reconnectLater(at, backoff);
        if (!this.#connections.some((each) => each?.state === 'ready')) this.#hasPassed = false;
        if (!this.#isReachable()) this.#queue.rejectAll(error);
      },
    });
  }

  #reconnectLater(at: number, backoff: Backoff): void {
    const timer = setTimeout(() => {
      this.#reconnects.delete(timer);
      this.#connect(at, backoff);
    }, backoff.nextDelayMs()).unref();
    this.#reconnects.add(timer);
  }

  #count(error: HsmDeviceError): void {
    const { code, errorCode } = error;
    this.#failures[code] = (this.#failures[code] ?? 0) + 1;
    if (errorCode !== undefined) this.#refusals[errorCode] = (this.#refusals[errorCode] ?? 0) + 1;
    const isFaultOfDevice = errorCode !== undefined ? blameOf(errorCode) === 'device' : !NOT_OF_THE_DEVICE.has(code);
    if (isFaultOfDevice) this.#blame(error);
  }

  #blame({ code, errorCode, message }: HsmDeviceError): void {
    this.#lastFailure = message;
    if (!this.#breaker.failed(performance.now())) return;
    this.#circuitOpenings++;
    this.#options.log.warn({ device: this.name, code, errorCode }, 'HSM device fails, taken out of use');
  }

  async #checkIfDue(): Promise<void> {
    const nowMs = performance.now();
    const isDue = this.status === 'ready' ? nowMs - this.#checkedAtMs >= HEALTH_EVERY_MS : this.#mayRecover(nowMs);
    if (isDue && this.#freeConnection() !== undefined) await this.#check();
  }

  #mayRecover(nowMs: number): boolean {
    return !this.#breaker.isOpen || this.#breaker.mayClose(nowMs);
  }

  async #check(): Promise<void> {
    this.#checkedAtMs = performance.now();
    const before = this.status;
    try {
      const send: SendCommand = (command) => this.#send(command, HEALTH_CHECK, HEALTH_TIMEOUT_MS);
      this.#diagnostics = await checkHealth(send, this.name, this.#options.expectedLmk);
      this.#hasPassed = true;
      this.#hasWrongLmk = false;
      if (this.#breaker.isOpen) this.#breaker.close();
      if (before !== 'ready') this.#options.log.info({ device: this.name }, 'HSM device ready');
    } catch (error) {
      if (!(error instanceof HsmDeviceError)) throw error;
      // Only diagnostics that pass prove another key: a device that fails otherwise may still have the wrong one.
      this.#hasWrongLmk ||= error.code === 'WRONG_LMK';
      this.#count(error);
    }
    this.#hasStarted();
  }

  #isReachable(): boolean {
    return this.#connections.some((each) => each !== undefined && each.state !== 'closed');
  }

  #outstanding(): number {
    return this.#connections.reduce((sum, each) => sum + (each?.outstanding ?? 0), 0);
  }
}
