import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLog } from '../connection/pool-options.ts';
import { KeyExchangeError, TapwireError } from '../errors.ts';
import { Backoff } from '../limits/backoff.ts';
import { LogBudget } from '../limits/log-budget.ts';
import type { IsoMessage } from '../processor-kit/iso-message.ts';
import type { KeyChange } from '../processor-kit/key-change.ts';
import type { KeyExchangeConfig } from '../processor-kit/key-exchange-config.ts';
import { isTrusted, judgeMacAgain } from '../processor-kit/mac-verdict.ts';
import type { MessageStamp, SwitchConfig, WorkingKeyUse } from '../processor-kit/processor.ts';
import type { ExchangeConnection, KeyChangeSide, KeyDecision } from '../processor-kit/switch-protocol.ts';
import { codeOf, KeyIntake } from './key-intake.ts';
import type { ExchangedKey, ExchangedKeys, ProcessorKey } from './ports.ts';
import { within } from './within.ts';
import type { WorkingKeys } from './working-keys.ts';

const TIMES = {
  /** Interval at which keys exchanged by other workers are read, and the age of keys is checked. */
  followEveryMs: 2_000,
  /** Limit for the response to the request, and again for the key. A sign-on takes no longer than two keys. */
  exchangeMs: 2_400,
};
/** By then the claim expires, also if its owner has crashed. */
const CLAIM_SECONDS = 15;
/**
 * If a connection is lost this soon after the gateway's response, the response may be lost, too. The key is then
 * requested again.
 */
const ANSWER_SETTLED_MS = 5_000;
/**
 * If no key fits a message, the gateway checks whether another worker has exchanged one; at most once in this time.
 */
const LOOK_AGAIN_MS = 100;
/** A switch may repeat refused announcements at any rate. */
const LINES_PER_SECOND = 5;
const RETRY = { firstMs: 1_000, mostMs: 300_000 };

export interface KeyExchangeOptions {
  readonly where: ProcessorKey;
  readonly keyChange: KeyChange;
  readonly config: SwitchConfig & { readonly keyExchange: KeyExchangeConfig };
  readonly keys: WorkingKeys;
  readonly kept: ExchangedKeys;
  /** Whether the switch has accepted a request. */
  readonly isAccepted: (answer: IsoMessage) => boolean;
  readonly nextStamp: () => MessageStamp;
  readonly monotonicMs: () => number;
  readonly log: ConnectionLog;
  readonly times?: Partial<typeof TIMES> | undefined;
}

/** State of one switch's keys; the first two numbers only increase. */
export interface KeyExchangeStats {
  readonly exchanged: number;
  readonly failed: number;
  /** Why the last exchange failed; undefined after a later one has succeeded. */
  readonly lastFault: string | undefined;
  /** The accepted exchanged keys, newest first. */
  readonly keys: readonly { readonly use: WorkingKeyUse; readonly number: number; readonly kcv: string }[];
  /** How long the key of each use has been in use; null while it is the key of the configuration. */
  readonly ages: readonly { readonly use: WorkingKeyUse; readonly ageMs: number | null }[];
  /** Age at which the gateway requests a new key; null if the switch decides when keys change. */
  readonly maxAgeMs: number | null;
}

/** The connection of the last response to an announcement. */
interface LastAnswer {
  readonly use: WorkingKeyUse;
  readonly connectionId: string;
  readonly atMs: number;
}

/**
 * Exchanges the working keys of one switch while traffic runs (`processor-kit/key-change.ts` describes the steps).
 * After any failure the previous keys remain in use, and the failure is logged, counted and retried.
 */
export class KeyExchange implements KeyChangeSide {
  readonly macKeys: WorkingKeys;
  readonly #options: KeyExchangeOptions;
  readonly #times: typeof TIMES;
  readonly #intake: KeyIntake;
  readonly #lines = new Map<string, ExchangeConnection>();
  readonly #backoff = new Backoff(RETRY);
  readonly #budget = new LogBudget(LINES_PER_SECOND);
  /** Callers that wait for a requested key. */
  readonly #awaited = new Map<WorkingKeyUse, () => void>();
  /** Keys to be requested regardless of their age. */
  readonly #wanted = new Set<WorkingKeyUse>();
  #timer: NodeJS.Timeout | undefined;
  #retryAtMs = 0;
  /** The number of callers that are requesting due keys: a sign-on takes precedence over the timer. */
  #askers = 0;
  #nextLook: Promise<void> | undefined;
  #pause: Promise<void> = Promise.resolve();
  #lastAnswer: LastAnswer | undefined;
  #exchanged = 0;
  #failed = 0;
  #lastFault: string | undefined;
  #isClosed = false;

  constructor(options: KeyExchangeOptions) {
    this.#options = options;
    this.#times = { ...TIMES, ...options.times };
    this.macKeys = options.keys;
    this.#intake = new KeyIntake({
      ...options,
      isTrusted: (announcement) => this.#isTrustedNow(announcement),
      isAskedAnew: (use) => this.#wanted.has(use) && this.#awaited.has(use),
      onTaken: (key, line) => this.#begin(key, line),
      onRefused: (fault) => this.#tell(fault),
    });
    this.#schedule();
  }

  get stats(): KeyExchangeStats {
    const { keys: uses, startedBy, maxAgeSeconds } = this.#options.config.keyExchange;
    const keys = this.macKeys.live.map(({ use, number, kcv }) => ({ use, number, kcv }));
    const ages = uses.map((use) => ({ use, ageMs: this.macKeys.current(use)?.acknowledgedMsAgo ?? null }));
    const maxAgeMs = startedBy === 'us' ? maxAgeSeconds * 1_000 : null;
    return { exchanged: this.#exchanged, failed: this.#failed, lastFault: this.#lastFault, keys, ages, maxAgeMs };
  }

  /** Set while a PIN key changes: no PIN is sent between the announcement and the gateway's response. */
  get pinGate(): Promise<void> | undefined {
    return this.#intake.pinGate;
  }

  /** The MACs of a connection were bad for too long, so new keys are needed regardless of the age. */
  distrust(): void {
    if (this.#options.config.keyExchange.keys.includes('mac')) this.#wanted.add('mac');
  }

  forget(connectionId: string): void {
    this.#lines.delete(connectionId);
    const last = this.#lastAnswer;
    const mayBeLost =
      last?.connectionId === connectionId && this.#options.monotonicMs() - last.atMs < ANSWER_SETTLED_MS;
    if (mayBeLost) this.#wanted.add(last.use);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /**
   * A connection has signed on: due keys are exchanged before its first tap. Returns false if they are required and
   * do not arrive.
   */
  async afterSignOn(line: ExchangeConnection, answer: IsoMessage | undefined): Promise<boolean> {
    this.#lines.set(line.connectionId, line);
    if (answer && !(await this.isTrusted(answer))) this.distrust();
    const mustHaveMac = this.#wanted.has('mac');
    const missing = await this.#askForDue(line);
    return !(mustHaveMac && missing.includes('mac'));
  }

  /** Whether a message's MAC is valid, also with a key that another worker has just exchanged. */
  async isTrusted(message: IsoMessage): Promise<boolean> {
    if (isTrusted(message)) return true;
    await this.#intake.isIdle;
    judgeMacAgain(message);
    return this.#isTrustedNow(message);
  }

  takeAnnouncement(announcement: IsoMessage, line: ExchangeConnection): Promise<KeyDecision> {
    return this.#intake.take(announcement, line);
  }

  /** Does not wait for announcements that are being processed. */
  async #isTrustedNow(message: IsoMessage): Promise<boolean> {
    if (isTrusted(message)) return true;
    await this.#lookAgain();
    judgeMacAgain(message);
    return isTrusted(message);
  }

  /** The switch has the gateway's response: the key is in use from now on. */
  #begin(key: ExchangedKey, { connectionId }: ExchangeConnection): void {
    if (!this.#lines.has(connectionId)) {
      this.#wanted.add(key.use); // the response was not sent: both keys are valid until there is another one
      return;
    }
    const { where, kept, config, log, monotonicMs } = this.#options;
    const { keyId, use, number, kcv } = key;
    this.macKeys.accept(key, true);
    this.#lastAnswer = { use, connectionId, atMs: monotonicMs() };
    this.#wanted.delete(use);
    this.#exchanged++;
    this.#lastFault = undefined;
    this.#backoff.reset();
    kept.acknowledge(where, { keyId, use }, config.keyExchange.overlapSeconds).catch((error: unknown) => {
      this.#wanted.add(use); // after a restart it would not be known that the key is in use
      this.#tell(new KeyExchangeError('NOT_KEPT', { cause: error, detail: codeOf(error) }));
    });
    log.info({ ...where, use, number, kcv }, 'working key exchanged');
    this.#awaited.get(use)?.();
  }

  #isDue(use: WorkingKeyUse): boolean {
    const { startedBy, maxAgeSeconds } = this.#options.config.keyExchange;
    if (this.#wanted.has(use)) return true;
    if (startedBy !== 'us') return false;
    const ageMs = this.macKeys.current(use)?.acknowledgedMsAgo;
    return ageMs === undefined || ageMs === null || ageMs > maxAgeSeconds * 1_000;
  }

  /** Whether the key has arrived, or is about to because of another worker's request. */
  async #askFor(use: WorkingKeyUse, line: ExchangeConnection): Promise<boolean> {
    const { where, kept } = this.#options;
    try {
      if (!(await kept.claim(where, use, CLAIM_SECONDS))) return !this.#wanted.has(use);
    } catch (error) {
      return this.#tellAndWait(error);
    }
    try {
      await this.#request(use, line);
      return true;
    } catch (error) {
      return this.#tellAndWait(error);
    } finally {
      // A worker releases only its own claim.
      await kept.release(where, use).catch(() => {});
    }
  }

  /** @throws KeyExchangeError if the key does not arrive */
  async #request(use: WorkingKeyUse, line: ExchangeConnection): Promise<void> {
    const { keyChange, config, nextStamp } = this.#options;
    const { promise: isThere, resolve } = Promise.withResolvers<void>();
    this.#awaited.set(use, resolve);
    try {
      const request = keyChange.request(use, nextStamp(), config);
      const answer = await within(this.#times.exchangeMs, line.exchange(request)).catch((cause: unknown) => {
        throw new KeyExchangeError('UNANSWERED', { cause, detail: codeOf(cause) });
      });
      if (!this.#options.isAccepted(answer)) throw new KeyExchangeError('REFUSED');
      await within(this.#times.exchangeMs, isThere).catch(() => {
        throw new KeyExchangeError('NOT_ANNOUNCED');
      });
    } finally {
      this.#awaited.delete(use);
    }
  }

  #tellAndWait(error: unknown): false {
    this.#tell(error);
    this.#retryAtMs = this.#options.monotonicMs() + this.#backoff.nextDelayMs();
    return false;
  }

  /** Reads the keys that other workers have stored; shared by concurrent callers, and limited in frequency. */
  #lookAgain(): Promise<void> {
    this.#nextLook ??= this.#pause.then(async () => {
      this.#nextLook = undefined; // later callers may need keys that are stored only now
      this.#pause = sleep(LOOK_AGAIN_MS, undefined, { ref: false });
      await this.macKeys.refresh().catch((error: unknown) => this.#tell(error));
    });
    return this.#nextLook;
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      this.#follow()
        .catch((error: unknown) => this.#tell(error))
        .finally(() => this.#isClosed || this.#schedule());
    }, this.#times.followEveryMs).unref();
  }

  async #follow(): Promise<void> {
    await this.macKeys.refresh();
    const line = this.#lines.values().next().value;
    if (line && this.#askers === 0 && this.#options.monotonicMs() >= this.#retryAtMs) await this.#askForDue(line);
  }

  /** Requests one key after the other. @returns the uses whose key did not arrive */
  async #askForDue(line: ExchangeConnection): Promise<WorkingKeyUse[]> {
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

  #tell(error: unknown): void {
    this.#failed++;
    this.#lastFault = codeOf(error);
    const reason = error instanceof TapwireError ? error.message : codeOf(error);
    const { where, log, monotonicMs } = this.#options;
    const fields = { ...where, code: this.#lastFault, reason };
    this.#budget.spend(monotonicMs(), (suppressed) => {
      log.warn({ ...fields, suppressed }, 'key exchange failed, previous keys remain in use');
    });
  }
}
