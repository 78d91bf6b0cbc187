import { readFile } from 'node:fs/promises';
import type { MigrationBuilder, RunnerOption } from 'node-pg-migrate';
import { type MigrationStep, migrationSteps } from './migration-steps.ts';

type Strategy = NonNullable<RunnerOption['migrationLoaderStrategies']>[number];
type Loader = Exclude<Strategy['loader'], string>;

/**
 * Waiting for a lock that blocks the statements of taps, because those queue behind it. A migration that does not get
 * it is repeated as a whole.
 */
export const SHORT_LOCK_MS = 2_000;
/** Statements that block no taps may wait for the end of every transaction in progress, such as that of a dump. */
const LONG_LOCK_MS = 60 * 60_000;

const INVALID = `select from pg_index where indexrelid = to_regclass($1) and not indisvalid`;

/** Loads the files of migrations for node-pg-migrate: in a transaction, or statement by statement (README.md). */
export const loadMigrations: Loader = async (paths) =>
  Promise.all(
    paths.map(async (path) => ({ id: path, filePaths: [path], actions: actionsOf(await readFile(path, 'utf8')) })),
  );

function actionsOf(text: string) {
  const { isTransaction, steps } = migrationSteps(text);
  return {
    up: async (builder: MigrationBuilder) => {
      if (!isTransaction) return runOneByOne(builder, steps);
      for (const { sql } of steps) builder.sql(sql);
    },
    // There is no downgrade: an older version starts only on a backup of its own.
    down: false as const,
  };
}

async function runOneByOne(builder: MigrationBuilder, steps: readonly MigrationStep[]): Promise<void> {
  builder.noTransaction();
  for (const { sql, blocksTaps, index } of steps) {
    // `if not exists` would accept what an interrupted run has left behind: an index that is written but never read.
    const isLeft = index !== undefined && (await builder.db.query(INVALID, [index])).rows.length > 0;
    builder.sql(`set lock_timeout = ${blocksTaps ? SHORT_LOCK_MS : LONG_LOCK_MS}`);
    if (isLeft) builder.sql(`drop index concurrently if exists ${index}`);
    builder.sql(sql);
  }
  builder.sql(`set lock_timeout = ${SHORT_LOCK_MS}`);
}
