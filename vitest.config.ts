import { defineConfig } from 'vitest/config';

/** Tests that need Postgres: one embedded cluster serves them all, and each file has a database of its own in it. */
const ON_POSTGRES = [
  'test/flow/**/*.test.ts',
  'test/http/**/*.test.ts',
  'test/store/**/*.test.ts',
  'test/jobs/**/*.test.ts',
  'test/cli/database/**/*.test.ts',
  'test/ops/**/*.test.ts',
  'test/webhooks/flow/**/*.test.ts',
];

export default defineConfig({
  test: {
    // More than the cores of a small machine: tests that wait for deadlines leave them free. The cluster's connections
    // suffice for three at once, each with an api, a worker and its checks.
    maxWorkers: 3,
    projects: [
      { test: { name: 'pure', include: ['test/**/*.test.ts'], exclude: ON_POSTGRES } },
      {
        test: {
          name: 'postgres',
          include: ON_POSTGRES,
          globalSetup: 'test/support/postgres-cluster.ts',
          // Real sockets, processes and deadlines, on a machine that may be busy with all of them at once.
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
