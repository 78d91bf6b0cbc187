/** What a load test came to: written by `tapwire load --json`, read by `tapwire load compare`. */
import { z } from 'zod';

const count = z.int().min(0);
/** Null when nothing was answered. */
const milliseconds = z.number().min(0).nullable();

const latencies = {
  p50Ms: milliseconds.describe('From the moment a call was due to its answer; half of the calls took no longer'),
  p90Ms: milliseconds,
  p99Ms: milliseconds,
  p999Ms: milliseconds,
  maxMs: milliseconds,
};

const outcomes = z.record(z.string(), count).describe('Answers by outcome: Approved, Declined, Found, HTTP 503, ...');

const loadScenarioResult = z.object({
  answered: count,
  ...latencies,
  outcomes,
  unexpected: count.describe('Answers that the scenario must not have got, errors included'),
  errors: count,
});

export const loadResult = z
  .object({
    sent: count.describe('Calls that left: a tap, a tap with its PIN, a query'),
    answered: count,
    lost: count.describe('Sent and never answered'),
    perSecond: z.number().min(0).describe('Answers a second, while calls came in'),
    ...latencies,
    outcomes,
    ledger: z.object({
      ok: z
        .boolean()
        .nullable()
        .describe('Whether no money was lost or taken twice; null when there was no ledger to look at'),
      says: z.string().describe('What was compared, or why not'),
      violations: z.array(z.string()).describe('The first of what must not be'),
      checks: z
        .array(
          z.object({
            check: z.string().describe('I1 to I8, J (jobs), R (review), C (what clients were told)'),
            says: z.string().describe('What must hold'),
            lookedAt: count,
            open: count.describe('Not settled yet'),
            inReview: count.describe('To be settled by a person, and flagged'),
            misstated: count.describe('Differs because the switch said what was not true'),
            violations: count,
          }),
        )
        .default([])
        .describe('Each rule with its counts'),
    }),

    errors: count.describe('Answers by which the gateway did not do what was asked: 4xx, 5xx'),
    unexpected: count.describe('Answers that their scenario must not have got, errors included'),
    unsent: count.describe('Calls for which there was no connection'),
    abandoned: count.describe('Under way when the test was stopped by hand'),
    requests: count.describe('HTTP requests: a tap with its PIN is two'),
    reasons: z.record(z.string(), count).describe('Why calls were lost or not sent'),
    scenarios: z.record(z.string(), loadScenarioResult),
    generator: z.object({
      isLimit: z.boolean().describe('Whether the generator, not the gateway, may have made the figures'),
      says: z.array(z.string()).describe('Why'),
      lagP99Ms: milliseconds.describe('How much later than due calls left although there was a connection'),
      busy: z.number().min(0).max(1).describe('Share of the time in which the busiest worker worked'),
      workers: count,
    }),
    steps: z
      .array(
        z.object({
          perSecond: z.number(),
          answeredPerSecond: z.number(),
          p99Ms: milliseconds,
          broke: z.string().nullable(),
        }),
      )
      .describe('With --arrivals steps: what each step came to, and why the last one did not hold'),
    plan: z.object({
      target: z.string().describe('Host and port'),
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
