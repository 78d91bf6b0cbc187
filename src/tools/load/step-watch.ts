import type { ArrivalPlan, RateSegment } from './arrival-plan.ts';
import { percentilesOf, type StepResult } from './load-result.ts';
import { latenciesOf, type Slice, Tally } from './tally.ts';
import { failedThresholds, type Threshold } from './thresholds.ts';

/** A gateway that responds to less than this share of the arrivals, and has this backlog, will not catch up. */
const LEAST_RESPONDED_SHARE = 0.95;
const MAX_BACKLOG_SECONDS = 0.5;
/** A person at a till waits no longer; used if no conditions are given. */
const MAX_P99_MS = 1_000;
const MAX_ERROR_SHARE = 0.01;

/** Watches the steps of a test that continues until it breaks. */
export class StepWatch {
  readonly results: StepResult[] = [];
  readonly #segments: ArrivalPlan['segments'];
  readonly #thresholds: readonly Threshold[];
  #tally = new Tally();
  #step = 0;
  /** End of the current step, in seconds of the test. */
  #endSeconds: number;

  /**
   * @param thresholds conditions under which a step counts as broken; default: one second, and one error in a hundred
   */
  constructor({ segments }: ArrivalPlan, thresholds: readonly Threshold[]) {
    this.#segments = segments;
    this.#thresholds = thresholds;
    this.#endSeconds = segments[0]?.seconds ?? 0;
  }

  /** Adds the next second of the test. If a step ends with it and did not hold, returns the reason. */
  add(second: number, slice: Slice): string | undefined {
    this.#tally.add(slice);
    const segment = this.#segments[this.#step];
    if (segment === undefined || second + 1 < Math.floor(this.#endSeconds)) return undefined;
    const sum = this.#tally.take({ inFlight: slice.inFlight, waiting: slice.waiting });
    const responsesPerSecond = sum.responded / segment.seconds;
    const broke = this.#faultOf(sum, segment) ?? null;
    const { p99Ms } = percentilesOf(latenciesOf(sum));
    this.results.push({ perSecond: segment.from, responsesPerSecond, p99Ms, broke });
    this.#step++;
    this.#endSeconds += this.#segments[this.#step]?.seconds ?? 0;
    return broke ?? undefined;
  }

  #faultOf(sum: Slice, { from, seconds }: RateSegment): string | undefined {
    const scenarios = Object.values(sum.scenarios);
    const errors = scenarios.reduce((all, each) => all + each.errors, 0) + sum.unsent + sum.lost;
    // The report of its last second may be late and then contains calls of the next step, which count for neither.
    const due = Math.min(sum.due, from * seconds);
    const backlogSeconds = (sum.inFlight + sum.waiting) / from;
    if (sum.responded < due * LEAST_RESPONDED_SHARE && backlogSeconds > MAX_BACKLOG_SECONDS)
      return `it responded to ${(sum.responded / seconds).toFixed(0)} of ${(due / seconds).toFixed(0)} a second`;
    const percentiles = percentilesOf(latenciesOf(sum));
    const unexpected = scenarios.reduce((all, each) => all + each.unexpected, 0);
    if (this.#thresholds.length > 0) {
      const { sent, unsent, lost } = sum;
      const judged = { sent, unsent, lost, errors, unexpected, perSecond: sum.responded / seconds, ...percentiles };
      return failedThresholds(this.#thresholds, judged)[0];
    }
    if ((percentiles.p99Ms ?? 0) > MAX_P99_MS) return `p99 is ${percentiles.p99Ms?.toFixed(0)} ms`;
    return errors > sum.due * MAX_ERROR_SHARE ? `${errors} of ${sum.due} calls failed` : undefined;
  }
}
