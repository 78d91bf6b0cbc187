import type pg from 'pg';
import { LoadError } from '../../basics/errors.ts';
import { RUNNING_REVERSAL_STATES } from '../../payments/model/transaction.ts';
import { readConfig } from '../../start/config.ts';
import { inTransaction } from '../../store/postgres/group-commit.ts';
import { openDatabase } from '../../store/postgres/open-database.ts';
import { findDatabase } from '../administration.ts';
import { readOptions, text } from '../arguments.ts';

export const USAGE = `usage: tapwire load clean [--database URL]

Removes the transactions and links of the merchants of load tests ("Load Test 90001"), which stay. Only in dev: the
database keeps the audit trail for seven years, which a superuser can set aside. The ledgers of simulated switches
keep their bookings until the switches are started again.`;

/** `tapwire load clean`: all or nothing. @throws LoadError REFUSED outside of dev, or while a transaction is open */
export async function run(args: string[]): Promise<void> {
  const values = readOptions(args, { database: text });
  if (readConfig(process.env).TAPWIRE_ENV !== 'dev')
    throw new LoadError('REFUSED', 'tapwire load clean works only in dev.');
  const found = await findDatabase(values.database);
  try {
    const database = await openDatabase(found.url, { maxConnections: 1, mustExist: true });
    try {
      const { transactions, links } = await inTransaction(database, clean, BEGIN);
      console.log(`Removed ${transactions} transactions and ${links} links of load tests.`);
    } finally {
      await database.end();
    }
  } finally {
    await found.stop();
  }
}

/** One snapshot for all statements: a tap that arrives meanwhile stays, with everything about it. */
const BEGIN = 'begin isolation level repeatable read';

const MERCHANTS = `select acquirer_id, id from merchants where name = 'Load Test ' || id`;

const OPEN = `
select exists (
  select from transactions t join removed using (acquirer_id, id)
  where t.disposition is null or t.reversal_state in (${RUNNING_REVERSAL_STATES.join()})
  union all
  select from superseded_attempts s join removed r on r.acquirer_id = s.acquirer_id and r.id = s.transaction_id
  where s.reversal_state in (${RUNNING_REVERSAL_STATES.join()})
) as "isOpen"`;

/** Tables with rows about a transaction, other than those of `OF_MERCHANTS`. Partitions belong to their table. */
const ABOUT_TRANSACTIONS = `
select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'transaction_id'
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and c.relname <> all($1)`;

const OF_MERCHANTS = ['links', 'merchant_references', 'transactions'];

async function clean(client: pg.ClientBase): Promise<{ transactions: number; links: number }> {
  // Without triggers: the audit trail refuses deletions, and nothing else is to follow from them.
  await client.query('set local session_replication_role = replica').catch((cause) => {
    if ((cause as { code?: unknown }).code !== '42501') throw cause;
    throw new LoadError('REFUSED', 'The role of the database must be a superuser, as that of npm start is.', { cause });
  });
  await client.query(`create temporary table load_merchants on commit drop as ${MERCHANTS}`);
  await client.query(
    `create temporary table removed on commit drop as select t.acquirer_id, t.id from transactions t
     join load_merchants m on m.acquirer_id = t.acquirer_id and m.id = t.merchant_id`,
  );
  const { rows } = await client.query<{ isOpen: boolean }>(OPEN);
  if (rows[0]!.isOpen)
    throw new LoadError(
      'REFUSED',
      'A transaction or a reversal of a load test is still open. Repeat this when it has ended.',
    );
  await client.query(
    `delete from webhook_attempts w using webhook_events e, removed r where e.acquirer_id = w.acquirer_id
     and e.id = w.event_id and r.acquirer_id = e.acquirer_id and r.id = e.transaction_id`,
  );
  const about = await client.query<{ name: string }>(ABOUT_TRANSACTIONS, [OF_MERCHANTS]);
  for (const { name } of about.rows)
    await client.query(
      `delete from ${name} x using removed r where r.acquirer_id = x.acquirer_id and r.id = x.transaction_id`,
    );
  await client.query(
    'delete from used_values u using removed r where r.acquirer_id = u.acquirer_id and r.id = u.used_by',
  );
  const counts: Record<string, number> = {};
  for (const name of OF_MERCHANTS) {
    const { rowCount } = await client.query(
      `delete from ${name} x using load_merchants m where m.acquirer_id = x.acquirer_id and m.id = x.merchant_id`,
    );
    counts[name] = rowCount ?? 0;
  }
  return { transactions: counts.transactions!, links: counts.links! };
}
