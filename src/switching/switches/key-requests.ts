import { setTimeout as sleep } from 'node:timers/promises';
import { KeyExchangeError, TapwireError } from '../../basics/errors.ts';
import { LogBudget } from '../../basics/limits/log-budget.ts';
import { Backoff, within } from '../../basics/limits/waits.ts';
import type { IsoMessage } from '../../kits/processor-kit/iso-fields.ts';
import type { KeyChange } from '../../kits/processor-kit/key-change.ts';
import type { MessageStamp, SwitchConfig, WorkingKeyUse } from '../../kits/processor-kit/processor.ts';
import type { KeyExchangeConfig } from '../../kits/processor-kit/switch-config.ts';
import type { ExchangeConnection } from '../../kits/processor-kit/switch-protocol.ts';
import type { ConnectionLog } from '../connection/pool-types.ts';
import type { ExchangedKeys, ProcessorKey } from './ports.ts';
import type { WorkingKeys } from './working-keys.ts';

/** A switch may repeat refused announcements at any rate. */
const LINES_PER_SECOND = 5;

const FAILED = 'key exchange failed, previous keys remain in use';
const NO_KEY = 'no working key of the switch is usable, messages that need it are not sent';

/** Counts and logs the failures of one switch's key exchanges. */
export class KeyFaults {
  readonly #options;
  readonly #budget = new LogBudget(LINES_PER_SECOND);
  #count = 0;
  #last: string | undefined;

  constructor(options: {
    readonly where: ProcessorKey;
    readonly monotonicMs: () => number;
    readonly log: ConnectionLog;
  }) {
    this.#options = options;
  }

  /** Only increases. */
  get count(): number {
    return this.#count;
  }

  /** The code of the last failure; undefined after a later exchange has succeeded. */
  get last(): string | undefined {
    return this.#last;
  }

  record(error: unknown): void {
    this.#count++;
    this.#last = codeOf(error);
    const reason = error instanceof TapwireError ? error.message : codeOf(error);
    const { where, log, monotonicMs } = this.#options;
    const fields = { ...where, code: this.#last, reason };
    const text = this.#last === 'NO_KEY' ? NO_KEY : FAILED;
    this.#budget.spend(monotonicMs(), (suppressed) => log.warn({ ...fields, suppressed }, text));
  }

  clear(): void {
    this.#last = undefined;
  }
}

/** A name for an error: never its text, because it may contain foreign data. */
export function codeOf(error: unknown): string {
  if (error instanceof TapwireError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

/** A processor that fails on one message fails on all similar ones; these lines are enough to notice it. */
const FAULT_LINES_PER_SECOND = 10;

/** Logs an error of a processor's own code. Only the current message is affected. */
export type ReportFault = (error: unknown, connectionId?: string) => void;

export function faultLog(
  { acquirerId, processorId }: ProcessorKey,
  log: Pick<ConnectionLog, 'warn'>,
  monotonicMs: () => number,
): ReportFault {
  const budget = new LogBudget(FAULT_LINES_PER_SECOND);
  return (error, connectionId) => {
    const code = error instanceof Error ? error.name : 'unknown';
    budget.spend(monotonicMs(), (suppressed) => {
      const fields = { acquirerId, processorId, connectionId, code, suppressed };
      log.warn(fields, 'processor cannot read or build a message');
    });
  };
}

/** Time after which the claim expires, also if its owner has crashed. */
const CLAIM_SECONDS = 15;
const RETRY = { firstMs: 1_000, mostMs: 300_000 };

export interface KeyRequestsOptions {
  readonly where: ProcessorKey;
  readonly keyChange: KeyChange;
  readonly config: SwitchConfig & { readonly keyExchange: KeyExchangeConfig };
  readonly keys: WorkingKeys;
  readonly kept: ExchangedKeys;
  /** Whether the switch has accepted a request. */
  readonly isAccepted: (response: IsoMessage) => boolean;
  readonly nextStamp: () => MessageStamp;
  readonly monotonicMs: () => number;
  /** Limit for the response to the request, and again for the key. */
  readonly exchangeMs: number;
  readonly faults: KeyFaults;
}

/**
 * Requests the keys of one switch that are due: too old, or wanted regardless of their age. One worker requests a key
 * at a time, by a claim in the database.
 */
export class KeyRequests {
  readonly #options: KeyRequestsOptions;
  readonly #backoff = new Backoff(RETRY);
  /** Uses whose key is requested regardless of its age, until another than this one is current. */
  readonly #wanted = new Map<WorkingKeyUse, string | undefined>();
  /** Callers that wait for a requested key. */
  readonly #awaited = new Map<WorkingKeyUse, () => void>();
  #retryAtMs = 0;
  /** The number of callers that are requesting due keys: a sign-on takes precedence over the timer. */
  #askers = 0;

  constructor(options: KeyRequestsOptions) {
    this.#options = options;
  }

  /** The key of this use no longer fits, or may not: it is requested regardless of its age. */
  want(use: WorkingKeyUse): void {
    this.#wanted.set(use, this.#options.keys.current(use)?.keyId);
  }

  isWanted(use: WorkingKeyUse): boolean {
    if (!this.#wanted.has(use)) return false;
    if (this.#wanted.get(use) === this.#options.keys.current(use)?.keyId) return true;
    this.#wanted.delete(use); // another worker has exchanged it
    return false;
  }

  /** Whether a request for such a key is in progress. */
  isAwaited(use: WorkingKeyUse): boolean {
    return this.#awaited.has(use);
  }

  /** The same for a request that was made because the keys no longer match. */
  isAskedAnew(use: WorkingKeyUse): boolean {
    return this.#wanted.has(use) && this.#awaited.has(use);
  }

  /** A key of this use has come into use, requested or not. */
  satisfy(use: WorkingKeyUse): void {
    this.#wanted.delete(use);
    this.#backoff.reset();
    this.#awaited.get(use)?.();
  }

  /** Requests one key after the other. @returns the uses whose key did not arrive */
  async askForDue(line: ExchangeConnection): Promise<WorkingKeyUse[]> {
    const missing: WorkingKeyUse[] = [];
    this.#askers++;
    try {
      for (const use of this.#options.config.keyExchange.keys) {
        if (this.#isDue(use) && !(await this.#askFor(use, line))) missing.push(use);
      }
    } finally {
      this.#askers--;
    }
    return missing;
  }

  /** The same for a timer: not while a sign-on requests keys, nor too soon after a failure. */
  async askInTurn(line: ExchangeConnection): Promise<void> {
    if (this.#askers === 0 && this.#options.monotonicMs() >= this.#retryAtMs) await this.askForDue(line);
  }

  #isDue(use: WorkingKeyUse): boolean {
    const { keys, config } = this.#options;
    const { startedBy, maxAgeSeconds } = config.keyExchange;
    if (this.isWanted(use) || keys.isUnsettled(use) || keys.usable(use) === undefined) return true;
    if (startedBy !== 'us') return false;
    const ageMs = keys.current(use)?.acknowledgedMsAgo;
    return ageMs === undefined || ageMs === null || ageMs > maxAgeSeconds * 1_000;
  }

  /** Whether the key has arrived, or is about to because of another worker's request. */
  async #askFor(use: WorkingKeyUse, line: ExchangeConnection): Promise<boolean> {
    const { where, kept } = this.#options;
    try {
      if (!(await kept.claim(where, use, CLAIM_SECONDS))) return !this.isWanted(use);
    } catch (error) {
      return this.#retryLater(error);
    }
    try {
      await this.#request(use, line);
      return true;
    } catch (error) {
      return this.#retryLater(error);
    } finally {
      // A worker releases only its own claim.
      await kept.release(where, use).catch(() => {});
    }
  }

  /** @throws KeyExchangeError if the key does not arrive */
  async #request(use: WorkingKeyUse, line: ExchangeConnection): Promise<void> {
    const { keyChange, config, nextStamp, isAccepted, exchangeMs } = this.#options;
    const { promise: isThere, resolve } = Promise.withResolvers<void>();
    this.#awaited.set(use, resolve);
    try {
      const request = keyChange.request(use, nextStamp(), config);
      const response = await within(exchangeMs, line.exchange(request)).catch((cause: unknown) => {
        throw new KeyExchangeError('NO_RESPONSE', { cause, detail: codeOf(cause) });
      });
      if (!isAccepted(response)) throw new KeyExchangeError('REFUSED');
      await within(exchangeMs, isThere).catch(() => {
        throw new KeyExchangeError('NOT_ANNOUNCED');
      });
    } finally {
      this.#awaited.delete(use);
    }
  }

  #retryLater(error: unknown): false {
    this.#options.faults.record(error);
    this.#retryAtMs = this.#options.monotonicMs() + this.#backoff.nextDelayMs();
    return false;
  }
}

/**
 * If no key fits a message, the gateway checks whether another worker has exchanged one; at most once in this time.
 */
const LOOK_AGAIN_MS = 100;

/** Reads the keys that other workers have stored; shared by concurrent callers, and limited in frequency. */
export class KeyRefresh {
  readonly #keys: WorkingKeys;
  readonly #faults: KeyFaults;
  #next: Promise<void> | undefined;
  #pause: Promise<void> = Promise.resolve();

  constructor(keys: WorkingKeys, faults: KeyFaults) {
    this.#keys = keys;
    this.#faults = faults;
  }

  /** Resolves after a read that began after the call. */
  lookAgain(): Promise<void> {
    this.#next ??= this.#pause.then(async () => {
      this.#next = undefined; // later callers may need keys that are stored only now
      this.#pause = sleep(LOOK_AGAIN_MS, undefined, { ref: false });
      await this.#keys.refresh().catch((error: unknown) => this.#faults.record(error));
    });
    return this.#next;
  }
}
