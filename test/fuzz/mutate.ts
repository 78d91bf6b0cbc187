/** Small changes to an input, selected by a seeded generator so that a run can be repeated. */

/** A number from 0 to below `limit`. */
export type Random = (limit: number) => number;

/** Mulberry32: 32 bits of state are enough to select mutations. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * limit);
  };
}

/** Sources for the bytes of a mutation. */
export interface MutationSources {
  readonly random: Random;
  /** Bytes with which the parser compared its input. */
  readonly tokens: readonly Uint8Array[];
  /** Another input that reached something. */
  readonly other: Uint8Array;
  readonly maxBytes: number;
}

/** Octets at which lengths, tags and nibbles change their meaning. */
const TELLING_OCTETS = [
  0x00, 0x01, 0x1f, 0x20, 0x30, 0x39, 0x3f, 0x7f, 0x80, 0x81, 0x82, 0x83, 0x84, 0x9f, 0xdf, 0xfe, 0xff,
];

/** One, two, four or eight changes, one after the other. */
export function mutate(input: Uint8Array, sources: MutationSources): Uint8Array {
  const bytes = [...input];
  for (let changes = 1 << sources.random(4); changes > 0; changes--) {
    MUTATIONS[sources.random(MUTATIONS.length)]!(bytes, sources);
    bytes.length = Math.min(bytes.length, sources.maxBytes);
  }
  return Uint8Array.from(bytes);
}

/** Each changes `bytes` in place; an empty input only grows. */
const MUTATIONS: readonly ((bytes: number[], sources: MutationSources) => void)[] = [
  (bytes, { random }) => change(bytes, random, (octet) => octet ^ (1 << random(8))),
  (bytes, { random }) => change(bytes, random, (octet) => (octet + random(33) - 16) & 0xff),
  (bytes, { random }) => change(bytes, random, () => random(256)),
  (bytes, { random }) => change(bytes, random, () => TELLING_OCTETS[random(TELLING_OCTETS.length)]!),
  (bytes, { random }) => insert(bytes, random, [TELLING_OCTETS[random(TELLING_OCTETS.length)]!]),
  (bytes, { random, tokens }) => insert(bytes, random, pick(tokens, random)),
  (bytes, { random, tokens }) => overwrite(bytes, random, pick(tokens, random)),
  (bytes, { random }) => insert(bytes, random, part(bytes, random)),
  (bytes, { random, other }) => insert(bytes, random, part(other, random)),
  (bytes, { random, other }) => overwrite(bytes, random, part(other, random)),
  (bytes, { random }) => void bytes.splice(random(bytes.length + 1), 1 + random(8)),
  (bytes, { random }) => void bytes.splice(random(bytes.length + 1)),
];

function change(bytes: number[], random: Random, changed: (octet: number) => number): void {
  if (bytes.length === 0) return;
  const position = random(bytes.length);
  bytes[position] = changed(bytes[position]!);
}

function insert(bytes: number[], random: Random, inserted: ArrayLike<number>): void {
  bytes.splice(random(bytes.length + 1), 0, ...Array.from(inserted));
}

function overwrite(bytes: number[], random: Random, written: ArrayLike<number>): void {
  bytes.splice(random(bytes.length + 1), written.length, ...Array.from(written));
}

/** At most 64 bytes of `bytes`: enough for any object, and growth stays slow. */
function part(bytes: ArrayLike<number>, random: Random): number[] {
  const start = random(bytes.length + 1);
  return Array.from(bytes).slice(start, start + 1 + random(64));
}

function pick(tokens: readonly Uint8Array[], random: Random): Uint8Array {
  return tokens[random(tokens.length)] ?? new Uint8Array();
}
