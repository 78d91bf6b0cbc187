import { CellError } from './cell-list.ts';
import type { CellSession } from './cell-session.ts';
import { isServing, readOwnership } from './ownership.ts';

/** Replication of one acquirer needs a sender and a slot, and each table that is being copied needs another. */
const LEAST_SLOTS = 4;

interface Installed {
  readonly name: string;
  readonly keys: readonly string[];
}

/**
 * Finds what would make a move fail, before anything is changed.
 *
 * @throws CellError CANNOT_MOVE with every reason
 */
export async function checkMove(source: CellSession, target: CellSession, acquirerId: number): Promise<void> {
  const faults = [
    ...(await checkIdentity(source)),
    ...(await checkIdentity(target)),
    ...(await checkSource(source, acquirerId)),
    ...(await checkTarget(target, acquirerId)),
  ];
  if (faults.length === 0) {
    faults.push(...(await checkRestore(source)), ...(await checkRestore(target)));
    faults.push(...(await checkVersions(source, target)));
    faults.push(...(await checkKeys(source, target)));
    faults.push(...(await checkNames(source, target, acquirerId)));
  }
  if (faults.length > 0) throw new CellError('CANNOT_MOVE', `The acquirer cannot be moved.\n- ${faults.join('\n- ')}`);
}

async function checkIdentity(session: CellSession): Promise<string[]> {
  const { name } = session.cell;
  const [known] = await session.query<{ known: boolean }>(`select to_regclass('cell_identity') is not null as known`);
  if (!known!.known) return [`The database of ${name} has an older schema. Run tapwire migrate there.`];
  const [installed] = await session.query<Installed>('select name, keys from cell_identity');
  if (!installed) return [`No process of ${name} was started with CELL_NAME=${name}. Restart all of them with it.`];
  if (installed.name !== name) return [`The database of ${name} belongs to cell ${installed.name}.`];
  // Started before the first process with a name: nothing makes it close its connections to switches.
  const unnamed = await session.query<{ process: string }>(
    `select (figures ->> 'host') || ' process ' || (figures ->> 'pid') as process from process_figures
      where at > clock_timestamp() - interval '5 seconds' and figures ->> 'cell' is distinct from $1`,
    [name],
  );
  return unnamed.map(({ process }) => `${process} of ${name} runs without CELL_NAME=${name}. Restart it with it.`);
}

async function checkSource(source: CellSession, acquirerId: number): Promise<string[]> {
  const { name } = source.cell;
  const faults: string[] = [];
  if ((await source.query('select from acquirers where id = $1', [acquirerId])).length === 0)
    faults.push(`${name} has no acquirer ${acquirerId}.`);
  if ((await readOwnership(source, acquirerId).catch(() => undefined))?.state === 'finishing')
    faults.push(
      `The move of acquirer ${acquirerId} to ${name} has not finished. Run it again first: tapwire cell move --acquirer ${acquirerId} --to ${name}.`,
    );
  const [settings] = await source.query<{ level: string; slots: number; superuser: string }>(
    `select current_setting('wal_level') as level, current_setting('is_superuser') as superuser,
      least(current_setting('max_wal_senders')::integer,
        current_setting('max_replication_slots')::integer - (select count(*) from pg_replication_slots))::integer as slots`,
  );
  const { level, slots, superuser } = settings!;
  if (level !== 'logical') faults.push(`${name} has wal_level ${level}. Set it to logical and restart its Postgres.`);
  if (slots < LEAST_SLOTS) faults.push(`${name} has ${slots} free replication slots; ${LEAST_SLOTS} are needed.`);
  if (superuser !== 'on')
    faults.push(`The database user of ${name} is no superuser, which replication slots and clearing rows need.`);
  return faults;
}

async function checkTarget(target: CellSession, acquirerId: number): Promise<string[]> {
  const { name } = target.cell;
  const faults: string[] = [];
  const ownership = await readOwnership(target, acquirerId).catch(() => undefined);
  const isThere = (await target.query('select from acquirers where id = $1', [acquirerId])).length > 0;
  if (isThere && isServing(ownership)) faults.push(`${name} has an acquirer ${acquirerId} of its own.`);
  const [settings] = await target.query<{ superuser: string }>(`select current_setting('is_superuser') as superuser`);
  if (settings!.superuser !== 'on')
    faults.push(`The database user of ${name} is no superuser, which subscriptions need.`);
  return faults;
}

/** What a cell holds after a restore would not be held in the other cell. */
async function checkRestore(session: CellSession): Promise<string[]> {
  if ((await session.query('select from lost_window')).length === 0) return [];
  return [`The database of ${session.cell.name} was restored. Compare the books first (tapwire restored).`];
}

async function checkVersions(source: CellSession, target: CellSession): Promise<string[]> {
  const version = `select (select string_agg(name, ' ' order by name) from migrations) as migrations,
    (select version from pgboss.version) as jobs, (select string_agg(name, ' ' order by name) from pgboss.queue) as queues`;
  const read = async (session: CellSession) => JSON.stringify((await session.query(version))[0]);
  return (await read(source)) === (await read(target))
    ? []
    : [`${source.cell.name} and ${target.cell.name} run different versions of Tapwire. Update both first.`];
}

/** What one cell has sealed, hashed or signed must be readable in the other one, in both directions. */
async function checkKeys(source: CellSession, target: CellSession): Promise<string[]> {
  const keysOf = async (session: CellSession) =>
    (await session.query<Installed>('select keys from cell_identity'))[0]!.keys;
  const present = new Set(await keysOf(target));
  const missing = (await keysOf(source)).filter((key) => !present.has(key));
  if (missing.length === 0) return [];
  const names = [...new Set(missing.map((key) => key.split(' ').slice(0, 2).join(' ')))].join(', ');
  return [`${target.cell.name} lacks keys of ${source.cell.name} (${names}). All cells need the same key file.`];
}

/** What is unique in a whole cell, and not only for each acquirer. Two cells have equal ids if one is a copy of the other. */
const UNIQUE_IN_CELL = [
  { table: 'users', value: 'lower(username)', what: 'users with the same names' },
  { table: 'api_keys', value: 'id', what: 'API keys with the same ids' },
  { table: 'issuer_keys', value: 'id', what: 'issuer keys with the same ids' },
];

async function checkNames(source: CellSession, target: CellSession, acquirerId: number): Promise<string[]> {
  const faults: string[] = [];
  for (const { table, value, what } of UNIQUE_IN_CELL) {
    const own = `select ${value}::text as value from ${table} where acquirer_id = $1`;
    const values = (await source.query<{ value: string }>(own, [acquirerId])).map((row) => row.value);
    const others = `select from ${table} where ${value}::text = any($1) and acquirer_id is distinct from $2`;
    const taken = await target.query(others, [values, acquirerId]);
    if (taken.length > 0) faults.push(`${target.cell.name} has ${taken.length} ${what}.`);
  }
  return faults;
}
