import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type MigrationBuilder, PG_MIGRATE_LOCK_ID, type RunnerOption, runner } from 'node-pg-migrate';
import type pg from 'pg';
import { StartError } from '../../basics/errors.ts';
import { type Database, inLongSession } from './open-database.ts';
import { SESSION_LIMITS } from './session-limits.ts';

/** A statement of a migration. */
interface MigrationStep {
  readonly sql: string;
  /** Whether it takes a lock for which the statements of taps have to wait. */
  readonly blocksTaps: boolean;
  /** The index that it creates concurrently. */
  readonly index?: string | undefined;
}

export interface MigrationText {
  /** Whether all statements are one transaction; otherwise each is one, or cannot be in any. */
  readonly isTransaction: boolean;
  readonly steps: readonly MigrationStep[];
}

/** The first line of a file whose statements do not share a transaction. */
const ONE_BY_ONE = '-- Statement by statement';

const CONCURRENT_INDEX = /^create (?:unique )?index concurrently if not exists (\w+)/i;
/** These wait for transactions in progress, and nothing waits for them but other changes of the schema. */
const BLOCKS_NO_TAPS = [CONCURRENT_INDEX, /^drop index concurrently /i, /^alter table \S+ validate constraint /i];

/**
 * Reads the file of a migration. Without a common transaction, empty lines separate statements, because the server
 * would execute statements that it receives together as one transaction.
 */
export function migrationSteps(text: string): MigrationText {
  const isTransaction = !text.startsWith(ONE_BY_ONE);
  if (isTransaction) return { isTransaction, steps: [stepOf(text)] };
  const statements = text.split(/\n\s*\n/).map(withoutComments);
  return { isTransaction, steps: statements.filter((sql) => sql !== '').map(stepOf) };
}

function withoutComments(sql: string): string {
  return sql.replace(/^--.*\n?/gm, '').trim();
}

function stepOf(sql: string): MigrationStep {
  const index = CONCURRENT_INDEX.exec(sql)?.[1];
  return { sql, index, blocksTaps: !BLOCKS_NO_TAPS.some((pattern) => pattern.test(sql)) };
}

type Strategy = NonNullable<RunnerOption['migrationLoaderStrategies']>[number];
type Loader = Exclude<Strategy['loader'], string>;

/**
 * Waiting for a lock that blocks the statements of taps, because those queue behind it. A migration that does not get
 * it is repeated as a whole.
 */
const SHORT_LOCK_MS = 2_000;
/** Statements that block no taps may wait for the end of every transaction in progress, such as that of a dump. */
const LONG_LOCK_MS = 60 * 60_000;

const INVALID = `select from pg_index where indexrelid = to_regclass($1) and not indisvalid`;

/** Loads the files of migrations for node-pg-migrate: in a transaction, or statement by statement (README.md). */
const loadMigrations: Loader = async (paths) =>
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

const MIGRATIONS = fileURLToPath(new URL('migrations', import.meta.url));

/** For a migration that needs a lock which a long report holds: about twenty minutes. */
const MAX_TRIES = 200;
const TRY_AGAIN_MS = 4_000;
const LOOK_AGAIN_MS = 100;
/** lock_not_available, and deadlock_detected. */
const LOCK_CONDITIONS = ['55P03', '40P01'];

export interface MigrationOptions {
  readonly folder?: string;
  readonly tryAgainMs?: number;
}

/**
 * Updates the schema to this version. Any number of starting processes may call it at once.
 *
 * @throws StartError SCHEMA_TOO_NEW if a newer version has changed the schema: this one does not know what it must keep
 */
export async function migrate(
  database: Database,
  { folder = MIGRATIONS, tryAgainMs = TRY_AGAIN_MS }: MigrationOptions = {},
): Promise<void> {
  await inLongSession(database, SESSION_LIMITS.migration, async (client) => {
    await lockMigrations(client);
    const { unknown } = await migrationsOf(client, folder);
    if (unknown.length > 0) throw schemaTooNew(unknown);
    await client.query(`set lock_timeout = ${SHORT_LOCK_MS}`);
    for (let tries = 1; ; tries++) {
      try {
        await run(client, folder);
        return;
      } catch (error) {
        const code = (error as { code?: string }).code;
        if (!LOCK_CONDITIONS.includes(code!) || tries === MAX_TRIES) throw error;
      }
      // Taps that have queued behind it run meanwhile.
      await sleep(tryAgainMs);
    }
  });
}

function run(client: pg.ClientBase, folder: string): Promise<unknown> {
  return runner({
    dbClient: client,
    dir: folder,
    direction: 'up',
    migrationsTable: 'migrations',
    migrationLoaderStrategies: [{ extensions: ['.sql'], loader: loadMigrations }],
    noLock: true,
    singleTransaction: true,
    log: () => {},
  });
}

/**
 * Waits until no other process migrates. A statement that waits for the lock would have a snapshot, and the creation of
 * an index waits for the end of all older snapshots: both would wait for each other. The lock ends with the session.
 */
async function lockMigrations(client: pg.ClientBase): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ isOurs: boolean }>('select pg_try_advisory_lock($1) as "isOurs"', [
      PG_MIGRATE_LOCK_ID,
    ]);
    if (rows[0]!.isOurs) return;
    await sleep(LOOK_AGAIN_MS);
  }
}

/** The difference between the schema and this version. */
export interface Migrations {
  /** Those that `migrate` would run; all of them if it was never run. */
  readonly pending: readonly string[];
  /** Those that the schema has and this version does not know: a newer version has run them. */
  readonly unknown: readonly string[];
}

export async function migrationsOf(database: Pick<pg.ClientBase, 'query'>, folder = MIGRATIONS): Promise<Migrations> {
  const { rows } = await database.query<{ known: boolean }>(`select to_regclass('migrations') is not null as known`);
  const done = rows[0]!.known ? (await database.query<{ name: string }>('select name from migrations')).rows : [];
  const names = (await readdir(folder)).filter((file) => file.endsWith('.sql')).map((file) => file.slice(0, -4));
  return {
    pending: names.filter((name) => !done.some((row) => row.name === name)).sort(),
    unknown: done.flatMap(({ name }) => (names.includes(name) ? [] : name)).sort(),
  };
}

function schemaTooNew(unknown: readonly string[]): StartError {
  return new StartError(
    'SCHEMA_TOO_NEW',
    `A newer version of Tapwire has changed the database: this version does not know ${unknown.join(', ')}. Start that ` +
      'version or a newer one, or restore a backup of this version.',
  );
}
