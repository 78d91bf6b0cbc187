import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { invalidValues, RequestRejected, StartError } from '../basics/errors.ts';
import { withSecretFiles } from '../observe/secret-files.ts';
import { readConfig } from '../start/config.ts';
import { connectDatabase, prepareDatabase } from '../start/open-stores.ts';
import { startEmbeddedPostgres } from '../store/postgres/embedded-postgres.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { AcquirerSettings, type Page } from '../store/settings/acquirer-settings.ts';
import type { Change } from '../store/settings/admin-commit.ts';
import type { SettingsTable } from '../store/settings/settings-table.ts';

/** Longest actor name that the column of the admin events accepts. */
const MAX_ACTOR_CHARS = 255;
/** Page size for lists that are read completely. */
const PAGE = 500;

/** Runs a command on the database of the environment, after migrating it to this version. */
export async function onDatabase<Result>(act: (database: Database) => Promise<Result>): Promise<Result> {
  const prepared = await prepareDatabase(readConfig(process.env));
  try {
    return await act(prepared.database);
  } finally {
    await prepared.stop();
  }
}

/**
 * Runs a command that reads, or asks running processes, on the database as it is: it is used in an incident, in which a
 * newer command must not change the schema.
 */
export async function onPresentDatabase<Result>(act: (database: Database) => Promise<Result>): Promise<Result> {
  const connected = await connectDatabase(readConfig(process.env));
  try {
    return await act(connected.database);
  } finally {
    await connected.stop();
  }
}

/** Runs a command on one kind of an acquirer's settings. */
export function onSettings<Settings extends object, Stored extends object, Result>(
  table: SettingsTable<Settings, Stored>,
  act: (settings: AcquirerSettings<Settings, Stored>) => Promise<Result>,
): Promise<Result> {
  return onDatabase((database) => act(new AcquirerSettings(database, table)));
}

/** The actor that admin events record for a command. */
export function actor(): string {
  return `cli ${userInfo().username}@${hostname()}`.slice(0, MAX_ACTOR_CHARS);
}

export function changeOf(acquirerId: number): Change {
  return { acquirerId, actor: actor() };
}

/** A whole list, read page by page. `key` is the property that identifies a row. */
export async function listAll<Stored extends object>(
  key: keyof Stored & string,
  list: (page: Page) => Promise<Stored[]>,
): Promise<Stored[]> {
  const all: Stored[] = [];
  for (;;) {
    const rows = await list({ limit: PAGE, after: all.at(-1)?.[key] as Page['after'] });
    all.push(...rows);
    if (rows.length < PAGE) return all;
  }
}

/** Validates settings as the admin API does. @throws RequestRejected naming each fault */
export function checkedBy<Settings>(schema: z.ZodType<Settings>, given: unknown): Settings {
  const { data, error } = schema.safeParse(given);
  if (data !== undefined) return data;
  throw invalidValues(error!.issues.map(({ path, message }) => ({ path, detail: message })));
}

/**
 * Runs `act`; what it refuses names options instead of the properties of a body.
 *
 * @param optionOf the option with the value of a property, without `--`; undefined for a property without one
 */
export async function namingOptions<Result>(
  optionOf: (property: string) => string | undefined,
  act: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof RequestRejected)) throw error;
    const errors = error.errors?.map(({ pointer, detail }) => {
      const option = optionOf(pointer.slice(1));
      return { pointer: option === undefined ? pointer : `--${option}`, detail };
    });
    throw new RequestRejected(error.code, errors);
  }
}

/** The owner of a credential, as text for a person. */
export function ownerOf({
  integratorId,
  merchantId,
}: {
  readonly integratorId: number | null;
  readonly merchantId: string | null;
}): string {
  if (merchantId !== null) return `merchant ${merchantId}`;
  return integratorId === null ? 'the acquirer' : `integrator ${integratorId}`;
}

/** A database that a command may use until `stop`. */
export interface FoundDatabase {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * The existing database of this installation, unchanged: that of `--database`, of DATABASE_URL, or the embedded one in
 * the data folder, which is started if it does not run.
 *
 * @throws StartError NO_DATABASE
 */
export async function findDatabase(given: string | undefined): Promise<FoundDatabase> {
  const { DATABASE_URL, TAPWIRE_DATA = '.tapwire' } = withSecretFiles(process.env).variables;
  const url = given ?? DATABASE_URL;
  if (url !== undefined && url !== '') return { url, stop: async () => {} };
  const directory = join(TAPWIRE_DATA, 'postgres');
  if (existsSync(directory)) return startEmbeddedPostgres({ directory });
  throw new StartError(
    'NO_DATABASE',
    `There is no database in ${TAPWIRE_DATA}. Set DATABASE_URL, name one with --database, or run npm start first.`,
  );
}
