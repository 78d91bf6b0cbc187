import { SimulatorError } from '../../basics/errors.ts';
import type { Random } from './random.ts';

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
