import { SimulatorError } from '../../basics/errors.ts';

/** Faults of a response besides the scenarios, each with its share of the requests, 0 to 1. */
export const FAULT_KINDS = ['drop', 'late', 'duplicate', 'garble', 'disconnect', 'decline'] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

export type FaultRates = Readonly<Partial<Record<FaultKind, number>>>;

/** Draws the fault of one response; usually undefined. */
export type FaultDraw = (random: Random) => FaultKind | undefined;

/**
 * One draw per response decides among all faults, so that their shares add up and a seed repeats them in order.
 * Undefined when every share is zero: no number is drawn then.
 *
 * @throws SimulatorError `FAULT_INVALID` when a share is invalid, or the shares exceed one
 */
export function faultDraw(rates: FaultRates): FaultDraw | undefined {
  const steps: { kind: FaultKind; below: number }[] = [];
  let total = 0;
  for (const kind of FAULT_KINDS) {
    const rate = rates[kind] ?? 0;
    if (!(rate >= 0 && rate <= 1)) throw new SimulatorError('FAULT_INVALID', `${kind}: expected a share from 0 to 1`);
    if (rate === 0) continue;
    total += rate;
    steps.push({ kind, below: total });
  }
  if (total > 1) throw new SimulatorError('FAULT_INVALID', 'The shares of the faults exceed 100%.');
  if (steps.length === 0) return undefined;
  return (random) => {
    const drawn = random.next();
    return steps.find(({ below }) => drawn < below)?.kind;
  };
}

/**
 * Parses a share: `0.1%` or `0.001`.
 *
 * @param option what precedes the text in an error
 * @throws SimulatorError `FAULT_INVALID`
 */
export function parseShare(text: string, option = ''): number {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const share = match === null ? Number.NaN : Number(match[1]) / (match[2] === '%' ? 100 : 1);
  if (!(share >= 0 && share <= 1))
    throw new SimulatorError('FAULT_INVALID', `${option}${text}: expected a share such as 0.1% or 0.001`);
  return share;
}

/** Pseudo-random numbers that a seed reproduces exactly: xoshiro128** seeded by splitmix32. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Standard normal. */
  normal(): number;
}

export function seededRandom(seed: number): Random {
  let state = seed | 0;
  const splitmix = () => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  };
  let [a, b, c, d] = [splitmix(), splitmix(), splitmix(), splitmix()];
  const next = () => {
    const mixed = Math.imul(b, 5);
    const result = Math.imul((mixed << 7) | (mixed >>> 25), 9);
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = (d << 11) | (d >>> 21);
    return (result >>> 0) / 0x1_0000_0000;
  };
  /** Box-Muller transform; `1 - next()` avoids the logarithm of zero. */
  const normal = () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return { next, normal };
}

/** Draws the delay of one response in milliseconds. */
export type Latency = (random: Random) => number;

/** The 99th percentile of the standard normal distribution. */
const Z_99 = 2.3263478740408408;

/** A longer delay exceeds every deadline and would only fill the memory. */
const MAX_DELAY_MS = 300_000;

/**
 * Reads a distribution of response times:
 *
 *     8ms                      always
 *     uniform:5ms,max=20ms     evenly between the two
 *     lognormal:8ms,p99=40ms   median 8 ms, one in a hundred above 40 ms
 *
 * @throws SimulatorError `LATENCY_INVALID`
 */
export function parseLatency(text: string): Latency {
  const fixed = /^([\d.]+)ms$/.exec(text);
  if (fixed !== null) {
    const ms = milliseconds(fixed[1]!, text);
    return () => ms;
  }
  const uniform = /^uniform:([\d.]+)ms,max=([\d.]+)ms$/.exec(text);
  if (uniform !== null) {
    const [least, most] = [milliseconds(uniform[1]!, text), milliseconds(uniform[2]!, text)];
    return (random) => least + (most - least) * random.next();
  }
  const lognormal = /^lognormal:([\d.]+)ms,p99=([\d.]+)ms$/.exec(text);
  if (lognormal !== null) {
    const [median, p99] = [milliseconds(lognormal[1]!, text), milliseconds(lognormal[2]!, text)];
    if (median <= 0 || p99 < median) throw invalid(text);
    const sigma = Math.log(p99 / median) / Z_99;
    return (random) => Math.min(MAX_DELAY_MS, median * Math.exp(sigma * random.normal()));
  }
  throw invalid(text);
}

function invalid(text: string): SimulatorError {
  const forms = '8ms, uniform:5ms,max=20ms or lognormal:8ms,p99=40ms';
  return new SimulatorError('LATENCY_INVALID', `--latency ${text}: expected a form such as ${forms}`);
}

function milliseconds(digits: string, text: string): number {
  const ms = Number(digits);
  if (!Number.isFinite(ms) || ms > MAX_DELAY_MS) throw invalid(text);
  return ms;
}
