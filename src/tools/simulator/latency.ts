import { SimulatorError } from '../../basics/errors.ts';
import type { Random } from './random.ts';

/** Draws the delay of one response in milliseconds. */
export type Latency = (random: Random) => number;

/** The 99th percentile of the standard normal distribution. */
const Z_99 = 2.3263478740408408;

/** A longer delay exceeds every deadline and would only fill the memory. */
const MAX_DELAY_MS = 300_000;

/**
 * Reads a distribution of answer times:
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
