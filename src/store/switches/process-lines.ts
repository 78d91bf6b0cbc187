import type { ReportedLines } from '../../switching/switches/other-processes.ts';
import type { Database } from '../postgres/open-database.ts';

/** Longer than a process needs for several reports. The lines of a killed process are forgotten after this time. */
const FRESH_SECONDS = 5;
const GONE_SECONDS = 60;

const REPORT = `
with mine as (
  insert into process_lines (process_id, lines, reported_at) values ($1, $2, clock_timestamp())
  on conflict (process_id) do update set lines = excluded.lines, reported_at = excluded.reported_at
),
gone as (delete from process_lines where reported_at < clock_timestamp() - interval '${GONE_SECONDS} seconds')
select distinct unnest(lines) as name from process_lines
where process_id <> $1 and reported_at > clock_timestamp() - interval '${FRESH_SECONDS} seconds'`;

/** Which processes are signed on to which switches; the database's clock decides which reports are fresh. */
export function postgresProcessLines(database: Database): ReportedLines {
  return {
    async report(processId, lines) {
      const query = { name: 'report-lines', text: REPORT, values: [processId, [...lines]] };
      const { rows } = await database.query<{ name: string }>(query);
      return rows.map(({ name }) => name);
    },
    async forget(processId) {
      await database.query('delete from process_lines where process_id = $1', [processId]);
    },
  };
}
