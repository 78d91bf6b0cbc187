import { LoadError } from '../../basics/errors.ts';

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
