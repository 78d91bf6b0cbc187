/** The scenarios of a load test, and their frequency. */
import { z } from 'zod';

/** Finer steps are not needed, and sums remain exact. */
const MAX_WEIGHT = 1_000_000;
/** More than the number of scenarios. */
const MAX_SCENARIOS = 128;

/** Scenarios by weight: `{ "approve": 85, "decline": 10, "status": 5 }`. A weight of 0 leaves a scenario out. */
export const loadMix = z
  .record(z.string(), z.number().min(0).max(MAX_WEIGHT))
  .refine((mix) => Object.keys(mix).length <= MAX_SCENARIOS, `more than ${MAX_SCENARIOS} scenarios`)
  .refine((mix) => Object.values(mix).some((weight) => weight > 0), 'no scenario has a weight above 0')
  .describe('Relative weight of each scenario');

export type LoadMix = z.infer<typeof loadMix>;
