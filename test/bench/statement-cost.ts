import type { Database } from '../../src/store/postgres/open-database.ts';

const MAX_STATEMENTS = 500;
const TEXT_CHARS = 90;

/** What Postgres has spent on one statement. */
export interface Statement {
  readonly calls: number;
  readonly microseconds: number;
  readonly walBytes: number;
  readonly text: string;
}

/** The next reading counts from here. The database must count statements (`startStatementCounter`). */
export async function forgetStatements(database: Database): Promise<void> {
  await database.query('select pg_stat_statements_reset()');
}

export async function readStatements(database: Database): Promise<Statement[]> {
  const { rows } = await database.query<Statement>(
    `select sum(calls)::float8 as calls, sum(total_exec_time + total_plan_time)::float8 * 1000 as microseconds,
       sum(wal_bytes)::float8 as "walBytes", min(regexp_replace(query, '\\s+', ' ', 'g')) as text
     from pg_stat_statements group by queryid order by 2 desc limit $1`,
    [MAX_STATEMENTS],
  );
  return rows;
}

/** What it writes; otherwise its beginning. The names of pg-boss's tables are hashes. */
export function labelOf(text: string): string {
  const writes = [...text.matchAll(/\b(insert into|update|delete from|copy) ((?:pgboss\.)?[a-z_]\w*)/gi)];
  const named = writes.map(
    ([, verb, table]) => `${verb!.toLowerCase()} ${table!.replace(/pgboss\.j\w{20,}/, 'pgboss jobs')}`,
  );
  return named.length > 0 ? [...new Set(named)].join(', ') : `\`${text.slice(0, TEXT_CHARS)}\``;
}
