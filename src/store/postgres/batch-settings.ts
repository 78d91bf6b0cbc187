/**
 * A batch finds each of its rows by key, so one plan fits all batches. If Postgres chose, it would plan small batches
 * again each time, which takes longer than to run them (interleaved: 590 µs of its time for the insert of one tap, 225
 * with a plan that is kept). A plan is made once for each connection, perhaps while the table has a page or two and a
 * scan of all rows is cheapest, so scans and the joins that need them are off. Which index is best is known when the
 * table has statistics (first-statistics.ts).
 */
export const BATCH_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
} as const;
