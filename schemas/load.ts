/** The mix of scenarios of a load test, and its result, which `tapwire load --json` writes and `compare` reads. */
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

const count = z.int().min(0);
/** Null if there was no response. */
const milliseconds = z.number().min(0).nullable();

const latencies = {
  p50Ms: milliseconds.describe(
    'Milliseconds from the scheduled start of a call to its response; half of the calls took no longer',
  ),
  p90Ms: milliseconds,
  p99Ms: milliseconds,
  p999Ms: milliseconds,
  maxMs: milliseconds,
};

const outcomes = z
  .record(z.string(), count)
  .describe('Number of responses by outcome: Approved, Declined, Found, HTTP 503, ...');

const loadScenarioResult = z.object({
  responded: count,
  ...latencies,
  outcomes,
  unexpected: count.describe('Responses that contradict the scenario, errors included'),
  errors: count,
});

export const loadResult = z
  .object({
    sent: count.describe('Calls sent; a tap, a tap with its PIN and a query each count once'),
    responded: count,
    lost: count.describe('Calls without a response'),
    perSecond: z.number().min(0).describe('Responses per second while calls were started'),
    ...latencies,
    outcomes,
    ledger: z.object({
      ok: z.boolean().nullable().describe('Whether no money was lost or taken twice; null without a ledger'),
      description: z.string().describe('Description of the comparison, or the reason why there was none'),
      violations: z.array(z.string()).describe('First violations found'),
      checks: z
        .array(
          z.object({
            check: z.string().describe('Name of the rule: I1 to I8, J (jobs), R (review) or C (responses to clients)'),
            description: z.string().describe('Statement of the rule'),
            lookedAt: count,
            open: count.describe('Transactions without a final result'),
            inReview: count.describe('Transactions flagged for review by a person'),
            misstated: count.describe('Differences caused by incorrect responses of the switch'),
            violations: count,
          }),
        )
        .default([])
        .describe('Rules with their counts'),
    }),

    errors: count.describe('Responses with an error status (4xx or 5xx)'),
    unexpected: count.describe('Responses that contradict their scenario, errors included'),
    unsent: count.describe('Calls not sent because no connection was available'),
    abandoned: count.describe('Calls in progress when the test was interrupted'),
    requests: count.describe('HTTP requests; a tap with its PIN counts twice'),
    reasons: z.record(z.string(), count).describe('Reasons for lost or unsent calls, with counts'),
    scenarios: z.record(z.string(), loadScenarioResult),
    generator: z.object({
      isLimit: z.boolean().describe('Whether the load generator, not the gateway, may have limited the result'),
      description: z.array(z.string()).describe('Reasons for this assessment'),
      lagP99Ms: milliseconds.describe(
        'Delay of calls behind their schedule although a connection was available, 99th percentile in milliseconds',
      ),
      busy: z.number().min(0).max(1).describe('Utilization of the busiest worker, 0 to 1'),
      workers: count,
    }),
    steps: z
      .array(
        z.object({
          perSecond: z.number(),
          responsesPerSecond: z.number(),
          p99Ms: milliseconds,
          broke: z.string().nullable(),
        }),
      )
      .describe('Results of each step with `--arrivals steps`, and the reason why the last step failed'),
    plan: z.object({
      target: z.string().describe('Host and port of the gateway'),
      arrivals: z.string(),
      perSecond: z.number(),
      durationSeconds: z.number(),
      mix: z.record(z.string(), z.number()),
      seed: z.int(),
      connections: count,
      isNewEach: z.boolean(),
      phones: count,
    }),
    startedAt: z.iso.datetime(),
    sendingSeconds: z.number().min(0),
    endedBy: z.enum(['plan', 'signal', 'broke']),
    machine: z.string(),
  })
  .meta({ id: 'LoadResult' });

export type LoadResult = z.infer<typeof loadResult>;
export type LoadScenarioResult = z.infer<typeof loadScenarioResult>;
