import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { toHex } from '../bytes/hex.ts';
import { Backoff } from '../connection/backoff.ts';
import type { ConnectionLog } from '../connection/pool-options.ts';
import { KeyExchangeError, TapwireError } from '../errors.ts';
import type { KeyChange, KeyExchangeConfig, WrappedKey } from '../processor-kit/key-change.ts';
import { judgeMacAgain, macVerdictOf } from '../processor-kit/mac-verdict.ts';
import type { IsoMessage, MessageStamp, SwitchConfig, WorkingKeyUse } from '../processor-kit/processor.ts';
import type { ExchangeLine, KeyChangeSide, KeyDecision } from '../processor-kit/switch-protocol.ts';
import type { ExchangedKey, ExchangedKeys, ProcessorKey } from './ports.ts';
import { within } from './within.ts';
import type { WorkingKeys } from './working-keys.ts';

/** What other workers have exchanged is looked for this often, and whether a key has its age. */
const FOLLOW_EVERY_MS = 2_000;
/** From our request to the key, both answers included; two of them fit into the time that a sign-on has. */
const EXCHANGE_MS = 4_000;
/** To take a key in: the HSM and one commit. PINs wait for it, so it is far shorter than a tap's patience. */
const TAKE_IN_MS = 2_000;
/** The right to ask is over by then, also when its owner has died. */
const CLAIM_SECONDS = 15;
/** A line that is lost so soon after our answer may have lost it, too: then the key is asked for once more. */
const ANSWER_SETTLED_MS = 5_000;
/** A message that no key fits makes us look whether another worker has exchanged one; so often at most. */
const LOOK_AGAIN_MS = 100;
const RETRY = { firstMs: 1_000, mostMs: 300_000 };

/** DE39 of what we refuse (ISO 8583:1987 table A7): format error, security violation, system malfunction. */
const REFUSALS = { UNREADABLE: '30', NOT_AGREED: '30', NUMBER_TAKEN: '30', NOT_KEPT: '96' } as const;
const SECURITY_VIOLATION = '63';

export interface KeyExchangeOptions {
  readonly where: ProcessorKey;
  readonly keyChange: KeyChange;
  readonly config: SwitchConfig & { readonly keyExchange: KeyExchangeConfig };
  readonly keys: WorkingKeys;
  readonly kept: ExchangedKeys;
  /** Whether the switch has agreed to a request. */
  readonly isAccepted: (answer: IsoMessage) => boolean;
  readonly nextStamp: () => MessageStamp;
  readonly monotonicMs: () => number;
  readonly log: ConnectionLog;
}

/** Plain facts of one switch's keys; the first two only grow. */
export interface KeyExchangeStats {
  readonly exchanged: number;
  readonly failed: number;
  /** Why the last one failed; undefined once one has succeeded since. */
  readonly lastFault: string | undefined;
  /** Of the exchanged keys that are accepted, the newest first. */
  readonly keys: readonly { readonly use: WorkingKeyUse; readonly number: number; readonly kcv: string }[];
}

/** A line that our last answer to an announcement went out on. */
interface LastAnswer {
  readonly use: WorkingKeyUse;
  readonly connectionId: string;
  readonly atMs: number;
}

/**
 * Exchanges the working keys of one switch while traffic runs (`processor-kit/key-change.ts` tells the steps). Whatever goes
 * wrong leaves the keys before in their place, and is told, counted and tried again.
 */
export class KeyExchange implements KeyChangeSide {
  readonly macKeys: WorkingKeys;
  readonly #options: KeyExchangeOptions;
  readonly #lines = new Map<string, ExchangeLine>();
  readonly #backoff = new Backoff(RETRY);
  /** Those who wait for a key that they have asked for. */
  readonly #awaited = new Map<WorkingKeyUse, () => void>();
  /** Keys that are to be asked for whatever their age. */
  readonly #wanted = new Set<WorkingKeyUse>();
  #timer: NodeJS.Timeout | undefined;
  #retryAtMs = 0;
  #isAsking = false;
  #taking: Promise<unknown> = Promise.resolve();
  #pinGate: Promise<void> | undefined;
  #nextLook: Promise<void> | undefined;
  #pause: Promise<void> = Promise.resolve();
  #lastAnswer: LastAnswer | undefined;
  #exchanged = 0;
  #failed = 0;
  #lastFault: string | undefined;
  #isClosed = false;

  constructor(options: KeyExchangeOptions) {
    this.#options = options;
    this.macKeys = options.keys;
    this.#schedule();
  }

  get stats(): KeyExchangeStats {
    const keys = this.macKeys.live.map(({ use, number, kcv }) => ({ use, number, kcv }));
    return { exchanged: this.#exchanged, failed: this.#failed, lastFault: this.#lastFault, keys };
  }

  /** While a PIN key is being changed: no PIN leaves between the announcement and our answer. */
  get pinGate(): Promise<void> | undefined {
    return this.#pinGate;
  }

  /** The MACs of a line have been bad for too long: whatever the keys' age, new ones are needed. */
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

  /** A line is signed on: keys that are due come before its first tap. False when they must come and do not. */
  async afterSignOn(line: ExchangeLine, answer: IsoMessage | undefined): Promise<boolean> {
    this.#lines.set(line.connectionId, line);
    if (answer && !(await this.isTrusted(answer))) this.distrust();
    const mustHaveMac = this.#wanted.has('mac');
    for (const use of this.#due()) {
      const isThere = await this.#askFor(use, line);
      if (!isThere && use === 'mac' && mustHaveMac) return false;
    }
    return true;
  }

  /** Whether a message's MAC is good, also by a key that another worker has just exchanged. */
  async isTrusted(message: IsoMessage): Promise<boolean> {
    if ((macVerdictOf(message) ?? 'good') === 'good') return true;
    await this.#taking;
    judgeMacAgain(message);
    return this.#isTrustedNow(message);
  }

  /** One announcement at a time. */
  takeAnnouncement(announcement: IsoMessage, line: ExchangeLine): Promise<KeyDecision> {
    const decision = this.#taking.then(() => this.#decide(announcement, line));
    this.#taking = decision.catch(() => {});
    return decision;
  }

  async #decide(announcement: IsoMessage, line: ExchangeLine): Promise<KeyDecision> {
    const openPins = this.#holdPins(this.#options.keyChange.readUse(announcement));
    try {
      const key = await this.#takeIn(announcement);
      const whenAnswered = (isSent: boolean) => {
        if (key && isSent) this.#begin(key, line);
        openPins();
      };
      return { responseCode: '00', whenAnswered };
    } catch (error) {
      openPins();
      const fault = error instanceof KeyExchangeError ? error : new KeyExchangeError('NOT_IMPORTED', { cause: error });
      this.#tell(fault);
      const { code } = fault;
      return { responseCode: code in REFUSALS ? REFUSALS[code as keyof typeof REFUSALS] : SECURITY_VIOLATION };
    }
  }

  #holdPins(use: WorkingKeyUse | undefined): () => void {
    if (use !== 'pin') return () => {};
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pinGate = promise;
    return () => {
      this.#pinGate = undefined;
      resolve();
    };
  }

  /**
   * Puts the announced key into the HSM and into the database; undefined when it is the one that is current, whose
   * announcement the switch has repeated.
   */
  async #takeIn(announcement: IsoMessage): Promise<ExchangedKey | undefined> {
    const announced = this.#options.keyChange.readKey(announcement);
    if (!announced) throw new KeyExchangeError('UNREADABLE');
    const { use, number, kcv } = announced;
    const { transportKeyId, form, keys } = this.#options.config.keyExchange;
    if (!keys.includes(use)) throw new KeyExchangeError('NOT_AGREED');
    // Where the keys no longer agree no MAC can be good; a key that we asked for is taken all the same, under its transport key.
    const isAskedAnew = this.#wanted.has(use) && this.#awaited.has(use);
    if (!isAskedAnew && !(await this.#isTrustedNow(announcement))) throw new KeyExchangeError('UNTRUSTED');
    const current = this.macKeys.current(use);
    if (current?.kcv === kcv && current.number === number) return undefined;
    this.#refuseOld(announced);
    const { wrapped } = announced;
    const bytes = 'block' in wrapped ? wrapped.block : toHex(wrapped.cryptogram);
    const keyId = `exchanged-${this.#options.where.acquirerId}-${this.#options.where.processorId}-${use}-${randomUUID()}`;
    const key: ExchangedKey = { keyId, use, number, transportKeyId, form, wrapped: bytes, kcv };
    await this.#store(key);
    return key;
  }

  /** Without waiting for announcements to end, being one. */
  async #isTrustedNow(message: IsoMessage): Promise<boolean> {
    if ((macVerdictOf(message) ?? 'good') === 'good') return true;
    await this.#lookAgain();
    judgeMacAgain(message);
    return macVerdictOf(message) === 'good';
  }

  /** An announcement of the past may be sent again by somebody who cannot make one. */
  #refuseOld({ use, number, kcv }: WrappedKey): void {
    for (const key of this.macKeys.live) {
      if (key.use !== use || key.acknowledgedMsAgo === null) continue;
      if (key.kcv === kcv) throw new KeyExchangeError('REPLAYED');
      if (key.number === number && number !== 0) throw new KeyExchangeError('NUMBER_TAKEN');
    }
  }

  async #store(key: ExchangedKey): Promise<void> {
    await within(TAKE_IN_MS, this.macKeys.import(key)).catch((cause: unknown) => {
      throw new KeyExchangeError('NOT_IMPORTED', { cause, detail: codeOf(cause) });
    });
    try {
      await within(TAKE_IN_MS, this.#options.kept.keep(this.#options.where, key));
    } catch (cause) {
      await this.macKeys.forget(key.keyId).catch(() => {});
      throw new KeyExchangeError('NOT_KEPT', { cause, detail: codeOf(cause) });
    }
    this.macKeys.accept(key, false);
  }

  /** The switch has our answer: the key is in use from now on. */
  #begin(key: ExchangedKey, { connectionId }: ExchangeLine): void {
    if (!this.#lines.has(connectionId)) {
      this.#wanted.add(key.use); // the answer went nowhere: both keys are good until there is another
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
      this.#wanted.add(use); // a restart would not know that it is in use
      this.#tell(new KeyExchangeError('NOT_KEPT', { cause: error, detail: codeOf(error) }));
    });
    log.info({ ...where, use, number, kcv }, 'a working key was exchanged');
    this.#awaited.get(use)?.();
  }

  /** Which keys are to be asked for now. */
  #due(): WorkingKeyUse[] {
    const { keys, startedBy, maxAgeSeconds } = this.#options.config.keyExchange;
    return keys.filter((use) => {
      if (this.#wanted.has(use)) return true;
      if (startedBy !== 'us') return false;
      const ageMs = this.macKeys.current(use)?.acknowledgedMsAgo;
      return ageMs === undefined || ageMs === null || ageMs > maxAgeSeconds * 1_000;
    });
  }

  /** Whether the key has come, or is about to by somebody else's request. */
  async #askFor(use: WorkingKeyUse, line: ExchangeLine): Promise<boolean> {
    const { where, kept, keyChange, config, nextStamp } = this.#options;
    const { promise: isThere, resolve } = Promise.withResolvers<void>();
    try {
      if (!(await kept.claim(where, use, CLAIM_SECONDS))) return !this.#wanted.has(use);
      this.#awaited.set(use, resolve);
      const request = keyChange.request(use, nextStamp(), config);
      const answer = await within(EXCHANGE_MS, line.exchange(request)).catch((cause: unknown) => {
        throw new KeyExchangeError('UNANSWERED', { cause, detail: codeOf(cause) });
      });
      if (!this.#options.isAccepted(answer)) throw new KeyExchangeError('REFUSED');
      await within(EXCHANGE_MS, isThere).catch(() => {
        throw new KeyExchangeError('NOT_ANNOUNCED');
      });
      return true;
    } catch (error) {
      this.#tell(error);
      this.#retryAtMs = this.#options.monotonicMs() + this.#backoff.nextDelayMs();
      return false;
    } finally {
      this.#awaited.delete(use);
      await kept.release(where, use).catch(() => {});
    }
  }

  /** What other workers have stored by now; for all who ask at once, and not too often. */
  #lookAgain(): Promise<void> {
    this.#nextLook ??= this.#pause.then(async () => {
      this.#nextLook = undefined; // who asks from now on may need what is stored only now
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
    }, FOLLOW_EVERY_MS).unref();
  }

  async #follow(): Promise<void> {
    await this.macKeys.refresh();
    const line = this.#lines.values().next().value;
    if (!line || this.#isAsking || this.#options.monotonicMs() < this.#retryAtMs) return;
    this.#isAsking = true;
    try {
      for (const use of this.#due()) await this.#askFor(use, line);
    } finally {
      this.#isAsking = false;
    }
  }

  #tell(error: unknown): void {
    this.#failed++;
    this.#lastFault = codeOf(error);
    const reason = error instanceof TapwireError ? error.message : codeOf(error);
    this.#options.log.warn(
      { ...this.#options.where, code: this.#lastFault, reason },
      'working keys were not exchanged: those before go on',
    );
  }
}

function codeOf(error: unknown): string {
  if (error instanceof TapwireError) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}
