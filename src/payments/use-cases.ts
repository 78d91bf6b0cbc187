import { Pins } from './pins/submit-pin.ts';
import type { TransactionDependencies } from './ports/transaction-dependencies.ts';
import { Refunds } from './refunds/refund.ts';
import { Voids } from './refunds/void.ts';
import { LateResponses } from './reversals/late-response.ts';
import { Outcomes } from './reversals/overdue.ts';
import { ReversalSteps } from './reversals/record-reversal-response.ts';
import { Reversals } from './reversals/reverse.ts';
import { Submissions } from './taps/authorize.ts';
import { Completions } from './taps/complete.ts';
import { Attempts } from './taps/plan-attempt.ts';
import { Handovers } from './taps/submit-handover.ts';
import { Taps } from './taps/submit-tap.ts';
import { Routes } from './taps/take-route.ts';

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
