import { Pins } from './pins/pins.ts';
import type { TransactionDependencies } from './ports/transaction-dependencies.ts';
import { Refunds } from './refunds/refunds.ts';
import { Voids } from './refunds/voids.ts';
import { LateResponses } from './reversals/late-responses.ts';
import { Outcomes } from './reversals/outcomes.ts';
import { ReversalSteps } from './reversals/record-reversal-response.ts';
import { Reversals } from './reversals/reversals.ts';
import { Attempts } from './taps/attempts.ts';
import { Completions } from './taps/completions.ts';
import { Handovers } from './taps/handovers.ts';
import { Routes } from './taps/routes.ts';
import { Submissions } from './taps/submissions.ts';
import { Taps } from './taps/taps.ts';

export type UseCases = ReturnType<typeof createUseCases>;

/** The use cases of transactions: each group is created once, with its ports and the groups that it uses. */
export function createUseCases(deps: TransactionDependencies) {
  const steps = new ReversalSteps(deps);
  const lateResponses = new LateResponses(deps, steps);
  const outcomes = new Outcomes(deps);
  const submissions = new Submissions(deps, outcomes, lateResponses);
  const routes = new Routes(deps);
  const attempts = new Attempts(deps, routes, outcomes, submissions);
  return {
    taps: new Taps(deps, attempts, outcomes),
    pins: new Pins(deps, attempts, outcomes),
    refunds: new Refunds(deps, attempts, outcomes, submissions),
    voids: new Voids(deps),
    handovers: new Handovers(deps, routes, attempts, outcomes, submissions),
    outcomes,
    reversals: new Reversals(deps, steps),
    completions: new Completions(deps),
    lateResponses,
  };
}
