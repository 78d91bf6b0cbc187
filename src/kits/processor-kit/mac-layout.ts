import type { Spec } from '../../codecs/iso8583/spec.ts';
import { WireValues } from '../../codecs/iso8583/wire-fields.ts';
import type { IsoMessage } from './iso-fields.ts';
import { MacPlace, type MacRule, type MacValue } from './mac-rule.ts';
import type { MessageCodec } from './processor.ts';

/**
 * The result of checking the MAC of a received message. `unverifiable`: no key of the gateway can check the MAC, or
 * an agreed MAC is missing. Only `good` messages, and those of a connection without MACs, may decide anything about
 * money.
 */
export type MacVerdict = 'good' | 'bad' | 'unverifiable';

/** A symbol, so that no codec takes the verdict for a field. */
const MAC_VERDICT = Symbol('MAC verdict');
const JUDGE = Symbol('judges the MAC');

/** @param judge checks in the HSM, with the keys that exist when it is called */
export function recordMacVerdict(message: IsoMessage, verdict: MacVerdict, judge?: () => Promise<MacVerdict>): void {
  Object.defineProperty(message, MAC_VERDICT, { value: verdict, configurable: true });
  if (judge) Object.defineProperty(message, JUDGE, { value: judge, configurable: true });
}

/**
 * Checks the MAC of a received message, unless it is known to be good. Until then the message is not trusted. Keys that
 * have arrived since the last check count.
 *
 * @throws {HsmUnavailable} if the HSM does not respond in time
 * @throws {CryptoError} if the HSM refuses a key
 */
export async function judgeMac(message: IsoMessage): Promise<void> {
  const judge = (message as { [JUDGE]?: () => Promise<MacVerdict> })[JUDGE];
  if (judge && !isTrusted(message)) recordMacVerdict(message, await judge());
}

/** Undefined on a connection without MACs. */
export function macVerdictOf(message: IsoMessage): MacVerdict | undefined {
  return (message as { [MAC_VERDICT]?: MacVerdict })[MAC_VERDICT];
}

/** Whether a message may decide anything about money: its MAC is good, or its connection uses none. */
export function isTrusted(message: IsoMessage): boolean {
  return (macVerdictOf(message) ?? 'good') === 'good';
}

/** A MAC as it was received. */
interface ReceivedMac extends MacValue {
  /** Whether the bytes of the field that no MAC uses have their fixed values. */
  readonly isWellFormed: boolean;
}

/** Where the MAC of one switch's messages stands, and which bytes it covers. It contains no key. */
export class MacLayout {
  readonly #rule: MacRule;
  readonly #codec: MessageCodec;
  readonly #place: MacPlace;
  readonly #wire: WireValues;
  readonly #blank: Uint8Array;

  constructor(rule: MacRule, codec: MessageCodec, spec: Spec) {
    this.#rule = rule;
    this.#codec = codec;
    this.#place = new MacPlace(rule, spec);
    this.#wire = new WireValues(spec);
    this.#blank = new Uint8Array(rule.lengthBytes);
  }

  /** Encodes a message with an empty MAC, which sets its bit in the bitmap. */
  encodeBlank(message: IsoMessage, target: Uint8Array, offset: number): number {
    this.#place.put(message, this.#blank);
    return this.#codec.encode(message, target, offset);
  }

  /** The bytes of an encoded message that its MAC covers, valid until the next call. */
  covered(message: IsoMessage, bytes: Uint8Array, start: number, end: number): Uint8Array {
    const body = bytes.subarray(start, Math.max(start, end - this.#rule.lengthBytes));
    return this.#rule.covered(message, body, this.#wire.turnTo(bytes, start, end));
  }

  /** Puts a MAC into its field. @returns the value of the field */
  put(message: IsoMessage, keyNumber: number, mac: Uint8Array): Uint8Array {
    const value = this.#rule.compose(keyNumber, mac.subarray(0, this.#rule.macBytes));
    this.#place.put(message, value);
    return value;
  }

  /** Whether the message has a MAC, which `encodeBlank` removes. */
  isSealed(message: IsoMessage): boolean {
    const value = this.#place.valueIn(message);
    return value !== undefined && value !== this.#blank;
  }

  /** The received MAC; undefined without a field at the place where it covers the whole message. */
  read(message: IsoMessage): ReceivedMac | undefined {
    const value = this.#place.valueIn(message);
    if (value === undefined) return undefined;
    const { keyNumber, mac } = this.#rule.read(value);
    const expected = this.#rule.compose(keyNumber ?? 0, mac);
    return { keyNumber, mac, isWellFormed: Buffer.compare(expected, value) === 0 };
  }
}

/** The keys that may have made a MAC. */
export function candidateKeys<Key extends { readonly number: number }>(
  { keyNumber }: MacValue,
  keys: readonly Key[],
): readonly Key[] {
  return keyNumber === undefined ? keys : keys.filter(({ number }) => number === keyNumber);
}
