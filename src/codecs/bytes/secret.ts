/** `util.inspect.custom`, without an import of Node: browsers load this module with the codecs. */
const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom');

/** A value that must never be printed: it appears as `[secret]` in logs, errors, JSON and templates. */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself. A review must look at each call. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [INSPECT](): string {
    return '[secret]';
  }
}

export function areEqualBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((octet, at) => octet === other[at]);
}
