/** The position of a chart's grid lines. */
export interface Scale {
  /** 0 at the bottom, 1 at the top. */
  readonly positionOf: (value: number) => number;
  readonly ticks: readonly number[];
}

const WANTED_TICKS = 4;
/**
 * A ratio of the largest to the typical value above this uses a logarithmic scale: on a linear one the typical value
 * would be near zero.
 */
const LOGARITHMIC_FROM = 25;

/** A scale from 0 to a round number above the largest value. */
export function straightScale(largest: number): Scale {
  const step = roundStep(Math.max(largest, 1e-9) / WANTED_TICKS);
  const top = Math.ceil(Math.max(largest, 1e-9) / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step);
  return { positionOf: (value) => value / top, ticks };
}

/** Logarithmic if the values are far apart, otherwise linear. */
export function latencyScale(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0).sort((a, b) => a - b);
  const [least, largest] = [positive[0], positive.at(-1)];
  if (least === undefined || largest === undefined || largest / least < LOGARITHMIC_FROM)
    return straightScale(largest ?? 1);
  const from = Math.floor(Math.log10(least));
  const to = Math.ceil(Math.log10(largest));
  const ticks = Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
  const positionOf = (value: number) => Math.max(0, (Math.log10(Math.max(value, 10 ** from)) - from) / (to - from));
  return { positionOf, ticks };
}

/** 1, 2 or 5 times a power of ten. */
export function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= atLeast * 0.999) ?? 10 * power;
}
