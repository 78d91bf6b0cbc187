import { LoadError } from '../../basics/errors.ts';
import type { Random } from '../simulator/faults.ts';

/** Ten times what any gateway on one machine can process: a typing error must not overload a switch. */
const MAX_PER_SECOND = 200_000;
/** Half a day: the merchants' tokens are issued once, and live for a day at most. */
const MAX_SECONDS = 12 * 3_600;

const UNITS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600 };

/**
 * Parses `60s`, `1500ms`, `2m`, `1.5h`.
 *
 * @param where the word that an error names
 * @throws LoadError BAD_OPTION
 */
export function parseSeconds(text: string, where: string, most = MAX_SECONDS): number {
  const [, digits = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,12})?)(ms|s|m|h)$/.exec(text) ?? [];
  const seconds = Number(digits) * (UNITS[unit] ?? Number.NaN);
  if (seconds > 0 && seconds <= most) return seconds;
  throw new LoadError('BAD_OPTION', `${where} ${text}: expected a time like 60s, 1500ms or 2m, at most ${most} s`);
}

/** Parses a rate of arrivals per second. @throws LoadError BAD_OPTION */
export function parseRate(text: string, where: string, least = 0.01): number {
  const rate = /^\d{1,6}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (rate >= least && rate <= MAX_PER_SECOND) return rate;
  throw new LoadError('BAD_OPTION', `${where} ${text}: expected arrivals a second, at most ${MAX_PER_SECOND}`);
}

/** Parses a whole number. @throws LoadError BAD_OPTION */
export function parseCount(text: string, where: string, least: number, most: number): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= least && count <= most) return count;
  throw new LoadError('BAD_OPTION', `${where} ${text}: expected a whole number from ${least} to ${most}`);
}

/** The arrivals of one test over time. */
export interface ArrivalPlan {
  readonly name: ArrivalName;
  readonly segments: readonly RateSegment[];
  readonly spacing: Spacing;
  /** The test ends early, with the first segment that the gateway cannot sustain. */
  readonly isUntilItBreaks: boolean;
}

const ARRIVAL_NAMES = ['constant', 'poisson', 'ramp', 'spike', 'steps'] as const;
type ArrivalName = (typeof ARRIVAL_NAMES)[number];

/** More steps than are useful to watch; each must last at least a second. */
const MAX_STEPS = 1_000;
const DEFAULT_STEP_SECONDS = 10;
const DEFAULT_SPIKE_TIMES = 5;

type Details = ReadonlyMap<string, string>;
type Shape = (perSecond: number, seconds: number, details: Details) => readonly RateSegment[];

/** For each name, the details that it accepts and the rates that follow from them. */
const SHAPES: Readonly<Record<ArrivalName, { readonly takes: readonly string[]; readonly shape: Shape }>> = {
  constant: { takes: [], shape: level },
  poisson: { takes: [], shape: level },
  ramp: { takes: ['from'], shape: ramp },
  spike: { takes: ['times', 'at', 'for'], shape: spike },
  steps: { takes: ['by', 'every'], shape: steps },
};

/**
 * Parses an arrival pattern:
 *
 *     constant                        the rate, at equal intervals
 *     poisson                         the rate on average, at random intervals
 *     ramp:from=100                   from 100 a second up (or down) to the rate
 *     spike:times=5,at=20s,for=5s     the rate, and once five times the rate
 *     steps:by=500,every=10s          the rate, and 500 more every ten seconds until it breaks
 *
 * A trailing `,poisson` makes the intervals random.
 *
 * @throws LoadError BAD_OPTION naming the wrong word
 */
export function parseArrivals(text: string, perSecond: number, seconds: number): ArrivalPlan {
  const [name = '', rest = ''] = text.split(/[:,](.*)/s);
  const known = ARRIVAL_NAMES.find((each) => each === name);
  if (known === undefined) throw fault(`${text}: expected one of ${ARRIVAL_NAMES.join(', ')}`);
  const words = rest.split(',').filter((word) => word !== '');
  const details = new Map(words.filter((word) => word !== 'poisson').map((word) => detailOf(word, known)));
  const isPoisson = known === 'poisson' || words.includes('poisson');
  return {
    name: known,
    segments: SHAPES[known].shape(perSecond, seconds, details),
    spacing: isPoisson ? 'poisson' : 'even',
    isUntilItBreaks: known === 'steps',
  };
}

function detailOf(word: string, name: ArrivalName): [string, string] {
  const [key = '', value = ''] = word.split('=', 2);
  const { takes } = SHAPES[name];
  if (takes.includes(key) && value !== '') return [key, value];
  const expected = takes.length === 0 ? 'nothing behind it' : takes.map((each) => `${each}=...`).join(', ');
  throw fault(`${word}: ${name} takes ${expected}`);
}

function level(perSecond: number, seconds: number): RateSegment[] {
  return [{ seconds, from: perSecond, to: perSecond }];
}

function ramp(perSecond: number, seconds: number, details: Details): RateSegment[] {
  return [{ seconds, from: parseRate(details.get('from') ?? '0', '--arrivals ramp:from', 0), to: perSecond }];
}

function spike(perSecond: number, seconds: number, details: Details): RateSegment[] {
  const times = Number(details.get('times') ?? DEFAULT_SPIKE_TIMES);
  const at = secondsOf(details.get('at'), 'spike:at', seconds * 0.4);
  const lasts = secondsOf(details.get('for'), 'spike:for', seconds * 0.2);
  if (!(times > 0) || !Number.isFinite(times)) throw fault('spike:times: expected a number above 0');
  if (at + lasts > seconds) throw fault(`spike: it ends after ${at + lasts} s, and the test after ${seconds} s`);
  const after = seconds - at - lasts;
  const high = parseRate(String(perSecond * times), '--arrivals spike:times');
  return [...level(perSecond, at), ...level(high, lasts), ...(after > 0 ? level(perSecond, after) : [])];
}

function steps(perSecond: number, seconds: number, details: Details): RateSegment[] {
  const by = parseRate(details.get('by') ?? String(perSecond), '--arrivals steps:by');
  const every = secondsOf(details.get('every'), 'steps:every', DEFAULT_STEP_SECONDS);
  const count = Math.min(MAX_STEPS, Math.floor(seconds / every));
  if (count < 2 || every < 1) throw fault(`steps: ${seconds} s hold no two steps of ${every} s, each at least 1 s`);
  return Array.from({ length: count }, (_, step) => level(perSecond + step * by, every)).flat();
}

function secondsOf(text: string | undefined, where: string, otherwise: number): number {
  return text === undefined ? otherwise : parseSeconds(text, `--arrivals ${where}`);
}

function fault(why: string): LoadError {
  return new LoadError('BAD_OPTION', `--arrivals ${why}`);
}

/** A period in which the rate changes linearly from one value to another. */
export interface RateSegment {
  readonly seconds: number;
  /** Arrivals per second at its start. */
  readonly from: number;
  /** Arrivals per second at its end. */
  readonly to: number;
}

/** `even`: at equal intervals. `poisson`: each arrival is independent of the others, as with people. */
export type Spacing = 'even' | 'poisson';

/**
 * The times at which arrivals are due, in milliseconds from the start, ascending. The same random numbers give the same
 * times. The schedule does not depend on responses, so a slow gateway cannot slow its own test (open loop).
 */
export function* dueTimes(segments: readonly RateSegment[], spacing: Spacing, random: Random): Generator<number> {
  // Measured in arrivals, the next one is 1 further, or a standard exponential further; the rate converts that to a
  // time.
  const step = spacing === 'even' ? () => 1 : () => -Math.log(1 - random.next());
  let due = spacing === 'even' ? 0 : step();
  let countBefore = 0;
  let secondsBefore = 0;
  for (const segment of segments) {
    const count = countOf(segment);
    for (; due < countBefore + count; due += step())
      yield (secondsBefore + secondsUntil(due - countBefore, segment)) * 1_000;
    countBefore += count;
    secondsBefore += segment.seconds;
  }
}

function countOf({ seconds, from, to }: RateSegment): number {
  return (seconds * (from + to)) / 2;
}

/** Solves `from * t + slope * t^2 / 2 = count`, in the form that stays exact for a small slope. */
function secondsUntil(count: number, { seconds, from, to }: RateSegment): number {
  if (count === 0) return 0;
  const slope = (to - from) / seconds;
  return (2 * count) / (from + Math.sqrt(Math.max(0, from * from + 2 * slope * count)));
}
