import { type Database, mapConnectionLoss } from '../../store/postgres/open-database.ts';

/** What the console's page calls acquirers and processors, besides their ids. */
export interface ConsoleNames {
  readonly acquirers: readonly { readonly id: number; readonly name: string }[];
  readonly processors: readonly {
    readonly acquirerId: number;
    readonly id: number;
    readonly name: string | null;
    readonly type: string;
    readonly isRemoved: boolean;
  }[];
}

/** One page of choices. The ids of further acquirers can be typed. */
const MAX_NAMES = 1_000;
const MAX_SUGGESTIONS = 20;

/** @param acquirerId undefined for all acquirers */
export async function readConsoleNames(database: Database, acquirerId: number | undefined): Promise<ConsoleNames> {
  const own = [acquirerId ?? null];
  const [acquirers, processors] = await mapConnectionLoss(
    Promise.all([
      database.query<ConsoleNames['acquirers'][number]>(
        `select id, name from acquirers where $1::int is null or id = $1 order by id limit ${MAX_NAMES}`,
        own,
      ),
      database.query<ConsoleNames['processors'][number]>(
        `select acquirer_id as "acquirerId", id, name, type, removed_at is not null as "isRemoved" from processors
         where $1::int is null or acquirer_id = $1 order by acquirer_id, id limit ${MAX_NAMES}`,
        own,
      ),
    ]),
  );
  return { acquirers: acquirers.rows, processors: processors.rows };
}

export interface SuggestedMerchant {
  readonly acquirerId: number;
  readonly id: string;
  readonly name: string;
}

/** Merchants whose id or name contains the text. */
export async function suggestMerchants(
  database: Database,
  acquirerId: number | undefined,
  text: string,
): Promise<SuggestedMerchant[]> {
  const { rows } = await mapConnectionLoss(
    database.query<SuggestedMerchant>(
      `select acquirer_id as "acquirerId", id, name from merchants
       where ($1::int is null or acquirer_id = $1) and (position(lower($2) in lower(name)) > 0 or id = $2)
       order by name, acquirer_id, id limit ${MAX_SUGGESTIONS}`,
      [acquirerId ?? null, text],
    ),
  );
  return rows;
}

/** The acquirers whose transactions are listed: one, or all. */
export async function acquirersInSight(database: Database): Promise<number[]> {
  const { rows } = await mapConnectionLoss(database.query<{ id: number }>('select id from acquirers'));
  return rows.map(({ id }) => id);
}

/** The acquirers that have a transaction with this id: at most one, because ids are random. */
export async function ownerOfTransaction(
  database: Database,
  acquirerIds: readonly number[],
  id: string,
): Promise<number | undefined> {
  const { rows } = await mapConnectionLoss(
    database.query<{ acquirerId: number }>(
      'select acquirer_id as "acquirerId" from transactions where acquirer_id = any($1) and id = $2 limit 1',
      [acquirerIds, id],
    ),
  );
  return rows[0]?.acquirerId;
}
