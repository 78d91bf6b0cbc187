import { CryptoError } from '../../basics/errors.ts';
import { fromHex } from '../../codecs/bytes/hex.ts';
import type { Hsm, ImportKeyRequest } from '../../codecs/crypto/hsm.ts';
import type { Processor, SwitchConfig, WorkingKeyUse } from '../../kits/processor-kit/processor.ts';
import type { MacKeyId, MacKeyIds } from './hsm-codec.ts';
import { tryMacKey } from './mac-trial.ts';
import type { ExchangedKey, ExchangedKeys, LiveKey, ProcessorKey } from './ports.ts';

/** The HSM functions that a key change needs. */
export type KeyStore = Pick<Hsm, 'importKey' | 'forgetKey' | 'kcv' | 'mac' | 'verifyMac'>;

/** Delay before a key that no message uses leaves the HSM: another worker may not have noticed the change yet. */
const FORGET_AFTER_MS = 60_000;

export interface WorkingKeysOptions {
  readonly where: ProcessorKey;
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly hsm: KeyStore;
  readonly kept: ExchangedKeys;
  readonly monotonicMs: () => number;
  /** Called with a key that the HSM refuses; the others work. */
  readonly onError: (error: unknown) => void;
}

/**
 * The current working keys of one switch: those of its configuration, and those exchanged since. The newest one that
 * the switch knows the gateway has is used. Every key that has not retired is accepted.
 */
export class WorkingKeys implements MacKeyIds {
  readonly #options: WorkingKeysOptions;
  readonly #configured: readonly MacKeyId[];
  /** Every key in the HSM, with the time from which it was no longer accepted. */
  readonly #inHsm = new Map<string, number | undefined>();
  /** Keys that this process acknowledged to the switch, whether or not the database has recorded it. */
  readonly #acknowledged = new Set<string>();
  #live: readonly LiveKey[] = [];
  #changes = 0;
  #macKeys: readonly MacKeyId[];
  #reading: Promise<void> = Promise.resolve();

  private constructor(options: WorkingKeysOptions) {
    this.#options = options;
    this.#configured = options.config.macKeys ?? [];
    this.#macKeys = this.#configured;
  }

  static async open(options: WorkingKeysOptions): Promise<WorkingKeys> {
    const keys = new WorkingKeys(options);
    await keys.refresh();
    return keys;
  }

  /** The accepted MAC keys; the first one makes MACs. */
  get keys(): readonly MacKeyId[] {
    return this.#macKeys;
  }

  /** The accepted exchanged keys, newest first. */
  get live(): readonly LiveKey[] {
    return this.#live;
  }

  /** The newest key that the switch knows the gateway has; undefined if none was exchanged. */
  current(use: WorkingKeyUse): LiveKey | undefined {
    return this.#live.find((key) => key.use === use && key.acknowledgedMsAgo !== null);
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
    this.#use([{ ...key, acknowledgedMsAgo: null }, ...this.#live.filter(({ keyId }) => keyId !== key.keyId)]);
  }

  async forget(keyId: string): Promise<void> {
    this.#inHsm.delete(keyId);
    this.#acknowledged.delete(keyId);
    await this.#options.hsm.forgetKey(keyId);
  }

  async #read(): Promise<void> {
    let changes: number;
    let usable: readonly LiveKey[];
    // A key that arrives during the read may be missing from the result.
    do {
      changes = this.#changes;
      usable = await this.#readUsable();
    } while (changes !== this.#changes);
    this.#use(usable);
    await this.#forgetRetired();
  }

  async #readUsable(): Promise<LiveKey[]> {
    const { kept, where, onError } = this.#options;
    const usable: LiveKey[] = [];
    for (const key of await kept.live(where)) {
      try {
        if (!this.#inHsm.has(key.keyId)) await this.import(key);
        usable.push(key);
      } catch (error) {
        onError(error);
      }
    }
    return usable;
  }

  #use(read: readonly LiveKey[]): void {
    const live = read.map((key) =>
      this.#acknowledged.has(key.keyId) ? { ...key, acknowledgedMsAgo: key.acknowledgedMsAgo ?? 0 } : key,
    );
    this.#live = live;
    const current = this.current('mac');
    const macs = live.filter(({ use }) => use === 'mac');
    const ordered = [...macs.filter((key) => key === current), ...macs.filter((key) => key !== current)];
    const configured = this.#acceptsConfigured() ? this.#configured : [];
    // A key that is not acknowledged yet makes no MACs: the previous one does.
    this.#macKeys = current ? [...ordered, ...configured] : [...configured, ...ordered];
  }

  /**
   * The configured keys are valid at first, and retire like any key after the first exchanged one has replaced them.
   */
  #acceptsConfigured(): boolean {
    const acknowledged = this.#live.filter(({ use, acknowledgedMsAgo }) => use === 'mac' && acknowledgedMsAgo !== null);
    const [first] = acknowledged;
    if (first === undefined) return true;
    const overlapMs = (this.#options.config.keyExchange?.overlapSeconds ?? 0) * 1_000;
    return acknowledged.length === 1 && first.acknowledgedMsAgo! < overlapMs;
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
