import type { NamedState } from './state-text.ts';

/** Of 128 bits: two of ten million states have the same name with a probability of 10⁻²⁴. */
const WORDS_OF_NAME = 4;
const FIRST_CAPACITY = 1 << 16;
const FULL_AT = 0.6;

/**
 * The names of known states. A state with more excuses than a known one with the same name is known, too: every violation
 * that it leads to follows from the other as well. An open hash table with 20 bytes for each entry, because there are
 * millions.
 */
export class KnownStates {
  #capacity = FIRST_CAPACITY;
  #names = new Uint32Array(FIRST_CAPACITY * WORDS_OF_NAME);
  /** Per place, 1 + the index of its excuses; 0 if it is free. */
  #excuses = new Uint32Array(FIRST_CAPACITY);
  readonly #sets: ExcuseSets;
  count = 0;

  constructor(sets: ExcuseSets) {
    this.#sets = sets;
  }

  has({ name, excuses }: NamedState): boolean {
    return this.#find(wordsOf(name), this.#sets.indexOf(excuses)) < 0;
  }

  /** @returns whether it was not known */
  add({ name, excuses }: NamedState): boolean {
    const words = wordsOf(name);
    const set = this.#sets.indexOf(excuses);
    const place = this.#find(words, set);
    if (place < 0) return false;
    this.#names.set(words, place * WORDS_OF_NAME);
    this.#excuses[place] = set + 1;
    this.count++;
    if (this.count > this.#capacity * FULL_AT) this.#grow();
    return true;
  }

  /** The free place for a state; -1 if it is known. */
  #find(words: Uint32Array, set: number): number {
    let place = words[0]! & (this.#capacity - 1);
    for (; this.#excuses[place] !== 0; place = (place + 1) & (this.#capacity - 1)) {
      if (this.#isAt(place, words) && this.#sets.isWithin(this.#excuses[place]! - 1, set)) return -1;
    }
    return place;
  }

  #isAt(place: number, words: Uint32Array): boolean {
    const at = place * WORDS_OF_NAME;
    const names = this.#names;
    return (
      names[at] === words[0] && names[at + 1] === words[1] && names[at + 2] === words[2] && names[at + 3] === words[3]
    );
  }

  #grow(): void {
    const names = this.#names;
    const excuses = this.#excuses;
    this.#capacity *= 2;
    this.#names = new Uint32Array(this.#capacity * WORDS_OF_NAME);
    this.#excuses = new Uint32Array(this.#capacity);
    for (const [from, set] of excuses.entries()) {
      if (set === 0) continue;
      const words = names.subarray(from * WORDS_OF_NAME, (from + 1) * WORDS_OF_NAME);
      let place = words[0]! & (this.#capacity - 1);
      while (this.#excuses[place] !== 0) place = (place + 1) & (this.#capacity - 1);
      this.#names.set(words, place * WORDS_OF_NAME);
      this.#excuses[place] = set;
    }
  }
}

function wordsOf(name: Buffer): Uint32Array {
  return new Uint32Array([name.readUInt32LE(0), name.readUInt32LE(4), name.readUInt32LE(8), name.readUInt32LE(12)]);
}

/** Sets of excuses: there are few different ones. */
export class ExcuseSets {
  readonly #bits = new Map<string, bigint>();
  readonly #indices = new Map<bigint, number>();
  readonly #sets: bigint[] = [];

  indexOf(excuses: readonly string[]): number {
    let set = 0n;
    for (const excuse of excuses) set |= this.#bitOf(excuse);
    let index = this.#indices.get(set);
    if (index === undefined) {
      index = this.#sets.push(set) - 1;
      this.#indices.set(set, index);
    }
    return index;
  }

  isWithin(one: number, other: number): boolean {
    return one === other || (this.#sets[one]! & this.#sets[other]!) === this.#sets[one];
  }

  #bitOf(excuse: string): bigint {
    let bit = this.#bits.get(excuse);
    if (bit === undefined) {
      bit = 1n << BigInt(this.#bits.size);
      this.#bits.set(excuse, bit);
    }
    return bit;
  }
}
