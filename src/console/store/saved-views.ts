import { MAX_VIEWS, type SavedView } from '#schemas/console-views';
import { RequestRejected } from '../../basics/errors.ts';
import { type Database, mapConnectionLoss } from '../../store/postgres/open-database.ts';

/** A person at the console. */
export interface ViewOwner {
  /** 0 for the installation. */
  readonly acquirerId: number;
  readonly personId: string;
  /** Whether the person is in the table of users, with which the views are deleted. */
  readonly isUser: boolean;
}

const OF_PERSON = 'acquirer_id = $1 and person_id = $2';
// Two saves at once may exceed the limit by one.
const SAVE = `
insert into console_views (acquirer_id, person_id, name, filter, user_id)
select $1::int, $2::uuid, $3::text, $4::jsonb, case when $5::boolean then $2::uuid end
where (select count(*) from console_views where ${OF_PERSON} and name <> $3) < ${MAX_VIEWS}
on conflict (acquirer_id, person_id, name) do update set filter = excluded.filter, saved_at = clock_timestamp()`;

/** In the order of their names. */
export async function listViews(database: Database, { acquirerId, personId }: ViewOwner): Promise<SavedView[]> {
  const text = `select name, filter from console_views where ${OF_PERSON} order by lower(name), name`;
  return (await mapConnectionLoss(database.query<SavedView>(text, [acquirerId, personId]))).rows;
}

/** Replaces a view of the same name. @throws RequestRejected (TOO_MANY_VIEWS) */
export async function saveView(
  database: Database,
  { acquirerId, personId, isUser }: ViewOwner,
  { name, filter }: SavedView,
): Promise<void> {
  const values = [acquirerId, personId, name, filter, isUser];
  const { rowCount } = await mapConnectionLoss(database.query(SAVE, values));
  if (rowCount === 0) throw new RequestRejected('TOO_MANY_VIEWS');
}

export async function removeView(database: Database, owner: ViewOwner, name: string): Promise<void> {
  const text = `delete from console_views where ${OF_PERSON} and name = $3`;
  await mapConnectionLoss(database.query(text, [owner.acquirerId, owner.personId, name]));
}
