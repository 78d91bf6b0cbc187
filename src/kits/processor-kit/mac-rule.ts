import type { MacFunction, MacMethod } from '../../codecs/crypto/mac.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import type { IsoMessage } from './iso-fields.ts';

/** Prepares the key with that id for MACs, in the simulated switches and checks of this process. */
export type MacKeys = (keyId: string, method: MacMethod) => MacFunction;

/** A prepared key, with the number that identifies it in messages. */
export interface NumberedMacKey {
  readonly number: number;
  readonly mac: MacFunction;
}

/** The MAC keys that are currently valid for a switch. The first key makes MACs; each key can verify them. */
export interface MacKeySet {
  readonly keys: readonly NumberedMacKey[];
}

/** The values of a message as on the wire: with padding, without length prefixes. */
export interface WireValues {
  /** A view of the value of that field, or of `mti`; undefined if it is absent. */
  valueOf(name: string): Uint8Array | undefined;
  /** The values of these fields one after another with a byte between them, empty for an absent field. */
  joined(names: readonly string[], separator: number): Uint8Array;
}

/**
 * The field of a message's MAC by name: one field in every message, or two. With two, a message whose fields all are in
 * the primary bitmap has the first, DE64, and any other message the second, DE128 (ISO 8583:1987 4.3.14).
 */
export type MacField = string | readonly [primary: string, secondary: string];

/** How a dialect authenticates its messages (DE64, DE128). */
export interface MacRule<Message extends IsoMessage = IsoMessage> {
  /** A row of `MAC_ALGORITHMS`. A switch's configuration can name another one (`macAlgorithm`). */
  readonly method: MacMethod;
  /** Each field is binary and of fixed length, and nothing follows it in a message that has it. */
  readonly field: MacField;
  readonly lengthBytes: number;
  /** How many bytes of the MAC, from the left, the field carries. */
  readonly macBytes: number;
  /**
   * The bytes that the MAC covers. `body` is the encoded message up to the MAC field. A rule that covers single fields
   * takes them from `wire`: decoding may have removed padding that the other side includes.
   */
  covered(message: Message, body: Uint8Array, wire: WireValues): Uint8Array;
  /** The field's value. @param mac `macBytes` long */
  compose(keyNumber: number, mac: Uint8Array): Uint8Array;
  /** The parts of the field's value. Bytes that belong to no part must have the values that `compose` gives them. */
  read(value: Uint8Array): MacValue;
}

/** The content of a MAC field. */
export interface MacValue {
  /** Number of the key that made the MAC; undefined if the dialect does not carry one. */
  readonly keyNumber: number | undefined;
  readonly mac: Uint8Array;
}

const PRIMARY_MAC = 64;
const SECONDARY_MAC = 128;
const FIELDS_OF_PRIMARY = 64;

/** Names of the fields that may carry a MAC. */
export function macFieldNames({ field }: Pick<MacRule, 'field'>): readonly string[] {
  return typeof field === 'string' ? [field] : field;
}

/**
 * Why a MAC cannot be written where the rule places it; undefined if it can. A codec writes the MAC over the end of the
 * message, so its field must be the last one and have a fixed length.
 */
export function macFault(spec: Spec, rule: Pick<MacRule, 'field' | 'lengthBytes'>): string | undefined {
  const lastNumber = Math.max(...Object.keys(spec.fields).map(Number));
  if (typeof rule.field === 'string')
    return spec.fields[lastNumber]?.name === rule.field
      ? fieldFault(spec, lastNumber, rule.lengthBytes)
      : `${rule.field} is not the last field`;
  const [primary, secondary] = rule.field;
  if (spec.fields[PRIMARY_MAC]?.name !== primary) return `${primary} is not field 64`;
  if (spec.fields[SECONDARY_MAC]?.name !== secondary || lastNumber !== SECONDARY_MAC)
    return `${secondary} is not field 128 and the last one`;
  return fieldFault(spec, PRIMARY_MAC, rule.lengthBytes) ?? fieldFault(spec, SECONDARY_MAC, rule.lengthBytes);
}

function fieldFault({ fields, encodings }: Spec, number: number, lengthBytes: number): string | undefined {
  const field = fields[number]!;
  const isBinary = field.kind === 'binary' && (field.encoding ?? encodings.binary) === 'binary';
  if (!isBinary || field.prefix !== undefined) return `${field.name} is not binary with a fixed length`;
  return field.max === lengthBytes ? undefined : `${field.name} must have ${lengthBytes} bytes`;
}

/** Which field carries the MAC of a message. */
export class MacPlace {
  readonly #names: readonly string[];
  /** The fields that need the secondary bitmap; undefined if every message has one. */
  readonly #behind: ReadonlySet<string> | undefined;

  constructor({ field }: Pick<MacRule, 'field'>, spec: Spec) {
    this.#names = macFieldNames({ field });
    const numbered = Object.entries(spec.fields).filter(([key]) => {
      const number = Number(key);
      return number > FIELDS_OF_PRIMARY && number !== SECONDARY_MAC;
    });
    this.#behind = (spec.bitmap.blocks ?? 1) > 1 ? undefined : new Set(numbered.map(([, { name }]) => name));
  }

  /** The field in which a message is sent with its MAC. */
  fieldOf(message: IsoMessage): string {
    const [first, secondary = first] = this.#names;
    return secondary !== first && this.#hasSecondaryBitmap(message) ? secondary! : first!;
  }

  /** Puts a value where the MAC belongs, and nowhere else. */
  put(message: IsoMessage, value: Uint8Array): void {
    const own = this.fieldOf(message);
    for (const name of this.#names) message[name as 'mac'] = (name === own ? value : undefined) as unknown;
  }

  /**
   * The MAC of a received message; undefined if it has none at the place where it covers the whole message: fields after a
   * MAC in DE64 would not be protected.
   */
  valueIn(message: IsoMessage): Uint8Array | undefined {
    const value = message[this.#names.at(-1)!] ?? message[this.fieldOf(message)];
    return value instanceof Uint8Array ? value : undefined;
  }

  #hasSecondaryBitmap(message: IsoMessage): boolean {
    if (this.#behind === undefined) return true;
    for (const name in message) if (message[name] !== undefined && this.#behind.has(name)) return true;
    return false;
  }
}
