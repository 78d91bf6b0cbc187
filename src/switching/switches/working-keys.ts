import { CryptoError } from '../../basics/errors.ts';
import { fromHex } from '../../codecs/bytes/hex.ts';
import type { Hsm, ImportKeyRequest } from '../../codecs/crypto/hsm.ts';
import { isExchangedKeyId } from '../../codecs/crypto/key-policy.ts';
import type { Processor, SwitchConfig, WorkingKeyUse } from '../../kits/processor-kit/processor.ts';
import { type MacKeyId, type MacKeyIds, tryMacKey } from './hsm-codec.ts';
import type { ExchangedKey, ExchangedKeys, LiveKey, ProcessorKey } from './ports.ts';

/** The HSM functions that a key change needs. */
export type KeyStore = Pick<Hsm, 'importKey' | 'forgetKey' | 'kcv' | 'mac' | 'verifyMac'>;

/** Delay before a key that no message uses leaves the HSM: another worker may not have noticed the change yet. */
const FORGET_AFTER_MS = 60_000;

/** A message under a key leaves at the latest this long after the key was chosen: the HSM, a slot and a closed gate. */
const LEAVES_WITHIN_MS = 8_000;

/**
 * If a key is not acknowledged after this time, the response or its record is lost. Also
 * the time after which the order of two keys is known (`SAME_MOMENT_SECONDS` of the store, and a margin).
 */
const SETTLED_AFTER_MS = 5_500;

/** What messages of one use are under. */
export type UsableKey = LiveKey | 'configured';

export interface WorkingKeysOptions {
  readonly where: ProcessorKey;
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly hsm: KeyStore;
  readonly kept: ExchangedKeys;
  readonly monotonicMs: () => number;
  /** Called once for each key that the HSM refuses; the others work. */
  readonly onError: (error: unknown) => void;
}

/** A key with its times on the clock of this process. */
interface WorkingKey extends LiveKey {
  readonly announcedAtMs: number;
  readonly endsAtMs: number | null;
}

/**
 * The current working keys of one switch: those of its configuration, and those exchanged since. Every key that has not
 * retired is accepted. Used is the newest one that the switch knows the gateway has, as long as the switch certainly has
 * it: otherwise no key is used, and messages that need one are not sent.
 */
export class WorkingKeys implements MacKeyIds {
  readonly #options: WorkingKeysOptions;
  readonly #configured: readonly MacKeyId[];
  readonly #overlapMs: number;
  /** Every key in the HSM, with the time from which it was no longer accepted. */
  readonly #inHsm = new Map<string, number | undefined>();
  /** Keys that this process acknowledged to the switch, whether or not the database has recorded it. */
  readonly #acknowledged = new Set<string>();
  /** Keys that the HSM refuses and that were reported. */
  readonly #refused = new Set<string>();
  /** The current key at the start, by use, if the switch may have replaced it before. */
  readonly #doubtedAtStart = new Map<WorkingKeyUse, string | undefined>();
  /** Every key that has not retired, the last announced first. */
  #stored: readonly WorkingKey[] = [];
  /** Those of them that the HSM has. */
  #live: readonly WorkingKey[] = [];
  /** When the keys of the configuration end, by use and id; those that were not replaced are missing. */
  #replaced: ReadonlyMap<string, number> = new Map();
  #readAtMs = Number.NEGATIVE_INFINITY;
  #changes = 0;
  #reading: Promise<void> = Promise.resolve();

  private constructor(options: WorkingKeysOptions) {
    this.#options = options;
    this.#configured = options.config.macKeys ?? [];
    this.#overlapMs = (options.config.keyExchange?.overlapSeconds ?? 0) * 1_000;
  }

  static async open(options: WorkingKeysOptions): Promise<WorkingKeys> {
    const keys = new WorkingKeys(options);
    await keys.refresh();
    // A process may have died between its response and the record of it.
    for (const use of keys.#exchanged) {
      if (keys.#unacknowledged(use)) keys.#doubtedAtStart.set(use, keys.current(use)?.keyId);
    }
    return keys;
  }

  /** The accepted MAC keys; the first one makes MACs. */
  get keys(): readonly MacKeyId[] {
    const current = this.current('mac');
    const macs = this.#live.filter((key) => key.use === 'mac' && this.#leftMs(key.endsAtMs) > 0);
    const ordered = [...macs.filter((key) => key === current), ...macs.filter((key) => key !== current)];
    const configured = this.#configured.filter(({ keyId }) => this.#leftMs(this.#endOf('mac', keyId)) > 0);
    // A key that is not acknowledged yet makes no MACs: the previous one does.
    return current ? [...ordered, ...configured] : [...configured, ...ordered];
  }

  /**
   * The key for the MAC of a message; undefined if the switch may have none of the keys. Network management messages then
   * have the last key that there is, because without them no new key can be requested. They take no money.
   */
  maker(isNetworkMessage: boolean): MacKeyId | undefined {
    const usable = this.usable('mac');
    if (usable !== undefined) return usable === 'configured' ? this.#configured[0] : usable;
    return isNetworkMessage ? (this.keys[0] ?? this.#configured[0]) : undefined;
  }

  /** The accepted exchanged keys, the last announced first. */
  get live(): readonly LiveKey[] {
    return this.#live;
  }

  /** The newest key that the switch knows the gateway has; undefined if none was exchanged. */
  current(use: WorkingKeyUse): LiveKey | undefined {
    return this.#live.find((key) => key.use === use && key.acknowledgedMsAgo !== null && key.endsAtMs === null);
  }

  /** The key that messages are under; undefined if the switch may have retired every key. */
  usable(use: WorkingKeyUse): UsableKey | undefined {
    if (!this.#exchanged.includes(use)) return 'configured';
    if (this.#isStale || this.#isDoubtful(use)) return undefined;
    const current = this.current(use);
    if (current) return current;
    const { macKeys, pinKey } = this.#options.config;
    const keyId = use === 'mac' ? macKeys?.[0]?.keyId : pinKey?.keyId;
    // A replaced key is not used until its end: the switch may have begun the overlap earlier, with a key whose
    // acknowledgement was not recorded.
    return keyId !== undefined && this.#endOf(use, keyId) === null ? 'configured' : undefined;
  }

  /** Whether the switch still accepts messages under a key that was usable when they were prepared. */
  isAccepted(use: WorkingKeyUse, keyId: string): boolean {
    if (!this.#exchanged.includes(use)) return true;
    const live = this.#live.find((key) => key.keyId === keyId);
    if (live) return this.#leftMs(live.endsAtMs) > 0;
    return isExchangedKeyId(keyId) ? false : this.#leftMs(this.#endOf(use, keyId)) > 0;
  }

  /**
   * Whether a new key is needed to learn what the switch has: a response or its record is lost, or two keys were announced at
   * one moment, and either may be the later one.
   */
  isUnsettled(use: WorkingKeyUse): boolean {
    const unended = this.#unended(use);
    const newest = unended.at(-1);
    if (!newest || this.#options.monotonicMs() - newest.announcedAtMs < SETTLED_AFTER_MS) return false;
    return unended.length > 1 || newest.acknowledgedMsAgo === null;
  }

  /** The uses whose keys the switch may have replaced before this process has started. */
  get doubted(): readonly WorkingKeyUse[] {
    return this.#exchanged.filter((use) => this.#isDoubtedSinceStart(use));
  }

  /**
   * Reads the keys that other workers have exchanged: one read at a time, and never one that started before the call.
   */
  refresh(): Promise<void> {
    const look = this.#reading.then(() => this.#read());
    this.#reading = look.catch(() => {});
    return look;
  }

  /** Imports a key into the HSM. @throws {CryptoError} what is wrong with it, especially KEY_CHECK_VALUE */
  async import(key: ExchangedKey): Promise<void> {
    const { hsm, processor, config } = this.#options;
    try {
      await hsm.importKey(importRequest(key));
    } catch (error) {
      // If several workers share a module, the first of them imported the key.
      const isThere =
        error instanceof CryptoError && error.code === 'KEY_EXISTS' && (await hsm.kcv(key.keyId)) === key.kcv;
      if (!isThere) throw error;
    }
    this.#inHsm.set(key.keyId, undefined);
    if (key.use === 'mac') await tryMacKey(processor, config, hsm, key.keyId);
  }

  /** An imported key is accepted from now on, and used when it `isCurrent`. */
  accept(key: ExchangedKey, isCurrent: boolean): void {
    if (isCurrent) this.#acknowledged.add(key.keyId);
    this.#changes++;
    const times = { announcedMsAgo: 0, endsInMs: null, announcedAtMs: this.#options.monotonicMs(), endsAtMs: null };
    const known = this.#stored.find(({ keyId }) => keyId === key.keyId);
    const accepted = this.#withAcknowledgement(known ?? { ...key, ...times, acknowledgedMsAgo: null });
    const withAccepted = (keys: readonly WorkingKey[]) =>
      [accepted, ...keys.filter(({ keyId }) => keyId !== key.keyId)].toSorted(
        (one, other) => other.announcedAtMs - one.announcedAtMs,
      );
    this.#stored = withAccepted(this.#stored);
    this.#live = withAccepted(this.#live);
  }

  async forget(keyId: string): Promise<void> {
    this.#inHsm.delete(keyId);
    this.#acknowledged.delete(keyId);
    await this.#options.hsm.forgetKey(keyId);
  }

  get #exchanged(): readonly WorkingKeyUse[] {
    return this.#options.config.keyExchange?.keys ?? [];
  }

  #leftMs(endsAtMs: number | null): number {
    return endsAtMs === null ? Number.POSITIVE_INFINITY : endsAtMs - this.#options.monotonicMs();
  }

  #endOf(use: WorkingKeyUse, configuredKeyId: string): number | null {
    return this.#replaced.get(`${use} ${configuredKeyId}`) ?? null;
  }

  /** A key of which it is not certain whether the switch knows that the gateway has it. */
  #unacknowledged(use: WorkingKeyUse): WorkingKey | undefined {
    return this.#unended(use).find(({ acknowledgedMsAgo }) => acknowledgedMsAgo === null);
  }

  /** The keys that no acknowledged key has certainly replaced, the first announced first. */
  #unended(use: WorkingKeyUse): readonly WorkingKey[] {
    return this.#stored.filter((key) => key.use === use && key.endsAtMs === null).toReversed();
  }

  /** Another worker may have exchanged a key after the last read, and the overlap is about to end. */
  get #isStale(): boolean {
    return this.#options.monotonicMs() - this.#readAtMs > this.#overlapMs - LEAVES_WITHIN_MS;
  }

  /**
   * If a response was lost or not recorded, or two keys were announced at one moment, the switch may have ended the key that
   * the gateway uses: at the earliest an overlap after the first key that may have replaced another.
   */
  #isDoubtful(use: WorkingKeyUse): boolean {
    if (this.#isDoubtedSinceStart(use)) return true;
    const [, second] = this.#unended(use);
    const startsAtMs = [second, this.#unacknowledged(use)].flatMap((key) => (key ? [key.announcedAtMs] : []));
    return this.#leftMs(Math.min(...startsAtMs) + this.#overlapMs) < LEAVES_WITHIN_MS;
  }

  #isDoubtedSinceStart(use: WorkingKeyUse): boolean {
    if (!this.#doubtedAtStart.has(use)) return false;
    const isSame = this.#doubtedAtStart.get(use) === this.current(use)?.keyId;
    return isSame && this.#unacknowledged(use) !== undefined;
  }

  async #read(): Promise<void> {
    const { kept, where, monotonicMs } = this.#options;
    for (;;) {
      const changes = this.#changes;
      const readAtMs = monotonicMs();
      const { live, replaced } = await kept.read(where);
      const imported = await this.#importMissing(live);
      if (changes !== this.#changes) continue; // a key that arrived during the read may be missing from the result
      this.#readAtMs = readAtMs;
      this.#replaced = new Map(replaced.map(({ use, keyId, endsInMs }) => [`${use} ${keyId}`, readAtMs + endsInMs]));
      this.#stored = live.map((key) =>
        this.#withAcknowledgement({
          ...key,
          announcedAtMs: readAtMs - key.announcedMsAgo,
          endsAtMs: key.endsInMs === null ? null : readAtMs + key.endsInMs,
        }),
      );
      this.#live = this.#stored.filter(({ keyId }) => imported.has(keyId));
      break;
    }
    await this.#forgetRetired();
  }

  async #importMissing(live: readonly LiveKey[]): Promise<ReadonlySet<string>> {
    const { onError } = this.#options;
    const imported = new Set<string>();
    for (const key of live) {
      try {
        if (!this.#inHsm.has(key.keyId)) await this.import(key);
        this.#refused.delete(key.keyId);
        imported.add(key.keyId);
      } catch (error) {
        if (!this.#refused.has(key.keyId)) onError(error);
        this.#refused.add(key.keyId);
      }
    }
    return imported;
  }

  #withAcknowledgement(key: WorkingKey): WorkingKey {
    return this.#acknowledged.has(key.keyId) ? { ...key, acknowledgedMsAgo: key.acknowledgedMsAgo ?? 0 } : key;
  }

  async #forgetRetired(): Promise<void> {
    const nowMs = this.#options.monotonicMs();
    const live = new Set(this.#live.map(({ keyId }) => keyId));
    for (const [keyId, retiredAtMs] of this.#inHsm) {
      if (live.has(keyId)) continue;
      if (retiredAtMs === undefined) this.#inHsm.set(keyId, nowMs);
      else if (nowMs - retiredAtMs > FORGET_AFTER_MS) await this.forget(keyId);
    }
  }
}

function importRequest({ keyId, use, transportKeyId, form, wrapped, kcv }: ExchangedKey): ImportKeyRequest {
  const named = { keyId, usage: use, transportKeyId, kcv } as const;
  return form === 'keyBlock' ? { ...named, block: wrapped } : { ...named, cryptogram: fromHex(wrapped) };
}
