import { randomUUID } from 'node:crypto';
import type { SwitchHsm } from '../../codecs/crypto/hsm.ts';
import { type KeyShape, keyShapeOf } from '../../codecs/crypto/mac.ts';
import {
  configuredMacKeys,
  type IsoMessage,
  type MacKeySet,
  type MessageStamp,
  macMethodOf,
  type NumberedMacKey,
  type PinData,
  type Processor,
  type SwitchConfig,
  type WorkingKeyUse,
} from '../../kits/processor-kit/index.ts';

/** The HSM functions that the switch's side of a connection needs. */
export type SimulatorHsm = Pick<SwitchHsm, 'keyMac' | 'forgetKey' | 'verifyPin' | 'generateKey'>;

/** The number of a key has two digits in a configuration, and at most one byte in a message. */
const MAX_NUMBER = 99;
/** Double-length TDES. */
const PIN_KEY: KeyShape = { algorithm: 'tdes', lengthBytes: 16 };

/**
 * Announced keys without a response. Each is valid until the next (`processor-kit/key-change.ts`), but must not
 * displace a key that is being announced on another connection, so as many are kept as connections can announce at
 * once.
 */
const MAX_WITHOUT_RESPONSE = 4;

interface PinKeyInUse {
  readonly keyId: string;
  /** Undefined for the key of the configuration, which messages do not name. */
  readonly number: number | undefined;
}

/**
 * The working keys of one simulated switch: those of its configuration and those that it announced later. Messages
 * under a key are accepted from its announcement on. The switch uses the key from the acquirer's response on, and
 * the previous key stays valid for the overlap.
 */
export class SwitchKeys implements MacKeySet {
  readonly #processor: Processor;
  readonly #config: SwitchConfig;
  readonly #hsm: SimulatorHsm;
  readonly #timers = new Set<NodeJS.Timeout>();
  #withoutResponse: readonly Fresh[] = [];
  /** The place of each announced key in the order of announcements; keys of the configuration come before all. */
  readonly #places = new Map<NumberedMacKey | PinKeyInUse, number>();
  #lastPlace = 0;
  /** Ids in the HSM of the generated keys. */
  readonly #keyIds = new Map<NumberedMacKey | PinKeyInUse, string>();
  #macKeys: readonly NumberedMacKey[];
  #pinKeys: readonly PinKeyInUse[];
  #lastNumber: number;

  constructor(processor: Processor, config: SwitchConfig, hsm: SimulatorHsm) {
    this.#processor = processor;
    this.#config = config;
    this.#hsm = hsm;
    const { mac } = processor;
    this.#macKeys = mac ? configuredMacKeys(mac, config, (keyId, method) => hsm.keyMac(keyId, method)) : [];
    this.#pinKeys = config.pinKey ? [{ keyId: config.pinKey.keyId, number: undefined }] : [];
    this.#lastNumber = Math.max(0, ...this.#macKeys.map(({ number }) => number));
  }

  /** The live MAC keys; the first one creates MACs. */
  get keys(): readonly NumberedMacKey[] {
    return this.#macKeys;
  }

  /** The kinds of keys that the connection exchanges. */
  get exchanged(): readonly WorkingKeyUse[] {
    return this.#config.keyExchange?.keys ?? [];
  }

  /** Whether a PIN is under a live key. */
  isPinKeyLive({ keyNumber }: PinData): boolean {
    return this.#pinKeys.length === 0 || this.#pinKeys.some(({ number }) => number === keyNumber);
  }

  /** The HSM's id of the key that a PIN is under; undefined when no PIN key was agreed. */
  pinKeyId({ keyNumber }: PinData): string | undefined {
    return this.#pinKeys.find(({ number }) => number === keyNumber)?.keyId;
  }

  /**
   * Generates a key and announces it.
   *
   * @param send returns whether the acquirer accepted it; undefined without a response, in which case the key stays
   * valid
   * @returns whether the switch now uses the key; false also when every number belongs to a valid key
   * @throws CryptoError when the HSM generates no key
   */
  async change(
    use: WorkingKeyUse,
    stamp: MessageStamp,
    send: (announcement: IsoMessage) => Promise<boolean | undefined>,
  ): Promise<boolean> {
    const { keyExchange } = this.#config;
    const { keyChange, mac } = this.#processor;
    const number = this.#freeNumber();
    if (!keyExchange?.keys.includes(use) || !keyChange || !mac || number === undefined) return false;
    const keyId = `announced-${randomUUID()}`;
    const made = await this.#hsm.generateKey({
      ...(use === 'pin' ? PIN_KEY : keyShapeOf(macMethodOf(mac, this.#config))),
      keyId,
      usage: use,
      transportKeyId: keyExchange.transportKeyId,
    });
    const wrapped = 'block' in made ? { block: made.block } : { cryptogram: made.cryptogram };
    const fresh: Fresh =
      use === 'pin' ? { keyId, pin: { keyId, number } } : { keyId, mac: this.#readied(keyId, number) };
    this.#places.set((fresh.mac ?? fresh.pin)!, ++this.#lastPlace);
    this.#place(fresh, 'last');
    this.#withoutResponse = [...this.#withoutResponse, fresh];
    if (this.#withoutResponse.length > MAX_WITHOUT_RESPONSE) this.#drop(this.#withoutResponse[0]!);
    const announced = { use, number, wrapped, kcv: made.kcv };
    const isTaken = await send(keyChange.announcement(announced, stamp, this.#config));
    if (isTaken === true) this.#activate(fresh, keyExchange.overlapSeconds);
    else if (isTaken === false) this.#drop(fresh);
    return isTaken === true;
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #readied(keyId: string, number: number): NumberedMacKey {
    return { number, mac: this.#hsm.keyMac(keyId, macMethodOf(this.#processor.mac!, this.#config)) };
  }

  /** The next unused number after the last one; undefined when all are used. */
  #freeNumber(): number | undefined {
    const taken = [...this.#macKeys, ...this.#pinKeys].map(({ number }) => number);
    if (new Set(taken).size > MAX_NUMBER - MAX_WITHOUT_RESPONSE) return undefined;
    do this.#lastNumber = (this.#lastNumber % MAX_NUMBER) + 1;
    while (taken.includes(this.#lastNumber));
    return this.#lastNumber;
  }

  /**
   * Puts the new key first; those that were announced before it are removed when the overlap is over. Two announcements can
   * be under way at once, on two connections: whichever response comes first, the later announcement counts.
   */
  #activate(fresh: Fresh, overlapSeconds: number): void {
    this.#remove(fresh);
    const placeOf = (key: NumberedMacKey | PinKeyInUse) => this.#places.get(key) ?? 0;
    const place = placeOf((fresh.mac ?? fresh.pin)!);
    const others: readonly (NumberedMacKey | PinKeyInUse)[] = fresh.mac ? this.#macKeys : this.#pinKeys;
    const responded = others.filter((key) => !this.#withoutResponse.some(({ mac, pin }) => key === (mac ?? pin)));
    const isLatest = responded.every((key) => placeOf(key) < place);
    this.#place(fresh, isLatest ? 'first' : 'last');
    const before = new Set(isLatest ? others.filter((key) => placeOf(key) < place) : [(fresh.mac ?? fresh.pin)!]);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#retire(before);
    }, overlapSeconds * 1_000).unref();
    this.#timers.add(timer);
  }

  #place({ keyId, mac, pin }: Fresh, where: 'first' | 'last'): void {
    const placed = <Key>(keys: readonly Key[], key: Key | undefined): readonly Key[] =>
      key === undefined ? keys : where === 'first' ? [key, ...keys] : [...keys, key];
    this.#macKeys = placed(this.#macKeys, mac);
    this.#pinKeys = placed(this.#pinKeys, pin);
    this.#keyIds.set((mac ?? pin)!, keyId);
  }

  #remove(fresh: Fresh): void {
    const { mac, pin } = fresh;
    this.#withoutResponse = this.#withoutResponse.filter((other) => other !== fresh);
    this.#macKeys = this.#macKeys.filter((key) => key !== mac);
    this.#pinKeys = this.#pinKeys.filter((key) => key !== pin);
  }

  #drop(fresh: Fresh): void {
    this.#remove(fresh);
    this.#retire(new Set([(fresh.mac ?? fresh.pin)!]));
  }

  /** Stops accepting messages under these keys. Those that the HSM generated are deleted there. */
  #retire(keys: ReadonlySet<NumberedMacKey | PinKeyInUse>): void {
    this.#macKeys = this.#macKeys.filter((key) => !keys.has(key));
    this.#pinKeys = this.#pinKeys.filter((key) => !keys.has(key));
    for (const key of keys) {
      const keyId = this.#keyIds.get(key);
      this.#keyIds.delete(key);
      this.#places.delete(key);
      if (keyId !== undefined) this.#hsm.forgetKey(keyId).catch(() => {}); // a key that remains has no further use
    }
  }
}

/** An announced key: one of the two. */
interface Fresh {
  readonly keyId: string;
  readonly mac?: NumberedMacKey;
  readonly pin?: PinKeyInUse;
}
