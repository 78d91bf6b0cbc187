/** Tokens kept: those of the latest comparisons, because most concern the current content of the input. */
const MAX_TOKENS = 64;

type Operator = '==' | '===' | '!=' | '!==' | '<' | '<=' | '>' | '>=';

/**
 * Instrumented code calls this instead of a comparison with a constant (Jazzer.js's `Fuzzer.tracer`). It compares, and
 * records what an input would have to contain for the opposite result.
 */
export class CompareTracer {
  /** Big-endian numbers and texts that a value was unequal to, newest last. */
  readonly tokens: Uint8Array[] = [];
  readonly #known = new Map<number | string, Uint8Array>();

  readonly traceNumberCmp = (left: number, right: number, operator: Operator): boolean => {
    if (left !== right) {
      this.#note(left);
      this.#note(right);
    }
    return compare(left, right, operator);
  };

  readonly traceStrCmp = (left: string, right: string, operator: Operator): boolean => {
    if (left !== right) {
      this.#note(left);
      this.#note(right);
    }
    return compare(left, right, operator);
  };

  /** A `case`: `target` is compared with the value switched on. */
  readonly traceAndReturn = <T>(current: unknown, target: T): T => {
    if (current !== target) this.#note(target);
    return target;
  };

  #note(value: unknown): void {
    if (typeof value === 'string' ? value.length === 0 || value.length > 32 : !isSmallInteger(value)) return;
    const key = value as number | string;
    if (this.#known.has(key)) return;
    const token = typeof key === 'string' ? Buffer.from(key, 'latin1') : bigEndian(key);
    this.#known.set(key, token);
    this.tokens.push(token);
    if (this.tokens.length <= MAX_TOKENS) return;
    this.tokens.shift();
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }
}

function isSmallInteger(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0xffffff;
}

function bigEndian(value: number): Uint8Array {
  const octets = [value & 0xff];
  for (let rest = value >>> 8; rest > 0; rest >>>= 8) octets.unshift(rest & 0xff);
  return Uint8Array.from(octets);
}

function compare(left: number | string, right: number | string, operator: Operator): boolean {
  switch (operator) {
    case '==':
    case '===':
      return left === right;
    case '!=':
    case '!==':
      return left !== right;
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
  }
}
