import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { isBusy } from './test/support/busy-machine.ts';
import { LongestFirst } from './test/support/longest-first.ts';
import { NameSkipped } from './test/support/name-skipped.ts';

/** What `.ci/setup` has installed for this checkout alone. */
const TOOLS = join(import.meta.dirname, '.ci/tools');
const also = (name: string, folder: string) => [process.env[name], join(TOOLS, folder)].filter(Boolean).join(delimiter);
const INSTALLED = { PATH: also('PATH', 'bin'), PYTHONPATH: also('PYTHONPATH', 'python') };

/** Tests that need Postgres: one embedded cluster serves all of them, and each file has its own database in it. */
const ON_POSTGRES = [
  'test/flow/**/*.test.ts',
  'test/http/**/*.test.ts',
  'test/contract/**/*.test.ts',
  'test/security/**/*.test.ts',
  'test/store/**/*.test.ts',
  'test/jobs/**/*.test.ts',
  'test/cli/database/**/*.test.ts',
  'test/ops/**/*.test.ts',
  'test/webhooks/flow/**/*.test.ts',
  'test/simulation/on-postgres/**/*.test.ts',
  'test/foreign/**/*.test.ts',
];

/**
 * Kill real processes and stop real databases. They take minutes, so they have their own command (`npm run
 * test:crash`).
 */
const CRASHES = ['test/**/crash/**/*.test.ts'];

/**
 * Search for minutes of processor time, so they have their own command (`npm run test:searches`), and `npm run fuzz --
 * http` for the requests.
 */
const SEARCHES = ['test/simulation/searches/**/*.test.ts', 'test/security/strange-requests.test.ts'];

/** Read the repository itself (`npm run check`). */
const OF_STYLE = ['test/style/**/*.test.ts'];

/** Need a browser (`npm run test:browser`). */
const IN_A_BROWSER = ['test/browser/**/*.test.ts'];

/** Pack and install what others install (`npm run test:packages`). */
const OF_PACKAGES = ['test/packages/**/*.test.ts'];

/** Need Java and Maven (`npm run test:interop`). */
const WITH_JPOS = ['test/interop/**/*.test.ts'];

const onPostgres = {
  globalSetup: 'test/support/postgres-cluster.ts',
  setupFiles: 'test/support/cheap-passwords.ts',
};

/**
 * Each starts its own processes, one after the other. They end within a minute each on a quiet machine; the limit only
 * ends one that hangs.
 */
const ofProcesses = { ...onPostgres, testTimeout: 900_000, hookTimeout: 600_000 };

/** Installing takes as long as the registry takes. */
const ofPackages = { globalSetup: 'test/packages/pack-all.ts', testTimeout: 600_000, hookTimeout: 600_000 };

const withJpos = { globalSetup: ['test/support/postgres-cluster.ts', 'test/interop/provide-jpos.ts'] };

export default defineConfig({
  test: {
    // More than the cores of a small machine: tests that wait for deadlines leave the cores free. The cluster's
    // connections are enough for six at once, each with an api, a worker and its checks.
    maxWorkers: (await isBusy()) ? 3 : 6,
    // A tenth less processor time than with Node's default of 16 MB, with which garbage collection took 11 %. Threads that
    // collect together wait for each other, and the workers use all cores anyway.
    execArgv: ['--max-semi-space-size=64', '--single-threaded-gc'],
    // Processes that tests start take half the processor time to load if their code was compiled before.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'tapwire-compile-cache'), ...INSTALLED },
    reporters: ['default', new NameSkipped()],
    // Loading a gateway's modules takes a second of processor time. The files of one worker share them: a file restores
    // what it changes in them (timers, spies, environment variables), and mocks no module.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // A test that hangs is detected after this time; nothing else waits for it. Some tests start processes, on a
    // machine that may be busy.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 240_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: ['test/**/*.test.ts'],
          exclude: [...ON_POSTGRES, ...SEARCHES, ...OF_STYLE, ...IN_A_BROWSER, ...OF_PACKAGES, ...WITH_JPOS],
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: ON_POSTGRES,
          exclude: [...CRASHES, ...SEARCHES],
          // A gateway of a test runs too shortly for the cost of V8's last compiler. Maglev still optimizes.
          execArgv: ['--no-turbofan'],
          ...onPostgres,
        },
      },
      { extends: true, test: { name: 'style', include: OF_STYLE } },
      { extends: true, test: { name: 'searches', include: SEARCHES, ...onPostgres } },
      { extends: true, test: { name: 'browser', include: IN_A_BROWSER, ...onPostgres } },
      { extends: true, test: { name: 'packages', include: OF_PACKAGES, ...ofPackages } },
      { extends: true, test: { name: 'interop', include: WITH_JPOS, ...withJpos } },
      { extends: true, test: { name: 'crash', include: CRASHES, ...ofProcesses } },
    ],
  },
});
