import { MAX_INPUT_BYTES } from './fuzz-target.ts';
import { mutate, type Random, seededRandom } from './mutate.ts';

/** The interface of the program under test. */
export interface GuidedProgram {
  run(input: Uint8Array): void;
  /** How often each edge was taken, a block for each module: zeroed before a run, incremented during it. */
  readonly counters: readonly Uint8Array[];
  /** Bytes that inputs were recently compared with. */
  readonly tokens: readonly Uint8Array[];
}

/** How many of the newest inputs count as the frontier. */
const FRONTIER = 32;

/** Searches for inputs that take new edges, or known ones with another count. */
export class GuidedSearch {
  /** Inputs that reached something new, in the order they were found. */
  readonly corpus: Uint8Array[] = [];
  runs = 0;
  /** Edges taken by any input so far. */
  edges = 0;
  readonly #program: GuidedProgram;
  readonly #random: Random;
  /** For each edge, a bit for each magnitude that its count was seen with. */
  readonly #seen: Uint8Array[] = [];

  constructor(program: GuidedProgram, seed: number) {
    this.#program = program;
    this.#random = seededRandom(seed);
  }

  /** Runs an input; true if it reached something new and joined the corpus. Throws what the program throws. */
  try(input: Uint8Array): boolean {
    for (const block of this.#program.counters) block.fill(0);
    this.runs++;
    this.#program.run(input);
    const isNew = this.#learn();
    if (isNew) this.corpus.push(input);
    return isNew;
  }

  /** A changed copy of an input of the corpus, half of the time from the frontier. */
  next(): Uint8Array {
    return mutate(this.#pick(), {
      random: this.#random,
      tokens: this.#program.tokens,
      other: this.#pick(),
      maxBytes: MAX_INPUT_BYTES,
    });
  }

  #pick(): Uint8Array {
    const { length } = this.corpus;
    const oldest = this.#random(2) === 0 ? 0 : Math.max(0, length - FRONTIER);
    return this.corpus[oldest + this.#random(length - oldest)] ?? new Uint8Array();
  }

  #learn(): boolean {
    let isNew = false;
    for (const [at, block] of this.#program.counters.entries()) {
      this.#seen[at] ??= new Uint8Array(block.length);
      const seen = this.#seen[at];
      for (let edge = 0; edge < block.length; edge++) {
        if (block[edge] === 0) continue;
        const magnitude = 1 << Math.min(7, 31 - Math.clz32(block[edge]!));
        if (seen[edge]! & magnitude) continue;
        if (seen[edge] === 0) this.edges++;
        seen[edge]! |= magnitude;
        isNew = true;
      }
    }
    return isNew;
  }
}
