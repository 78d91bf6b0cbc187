import type { Database } from '../../store/postgres/open-database.ts';

/** Figures and commands that processes exchange through the database, for people at a console. */

/** Twice the longest time between two reports of a running process; older figures are not used. */
const FRESH_SECONDS = 5;
/** Time after which a process that ended is removed. */
const GONE_SECONDS = 60;
/** The person is watching the screen: a command that was not run by then is dropped. */
const COMMAND_SECONDS = 10;

const REPORT = `
with mine as (
  insert into process_figures (process_id, figures) values ($1, $2)
  on conflict (process_id) do update set figures = excluded.figures, at = clock_timestamp()
),
gone as (delete from process_figures where at < clock_timestamp() - interval '${GONE_SECONDS} seconds'),
asked as (
  delete from process_commands
  where process_id = $1 or asked_at < clock_timestamp() - interval '${GONE_SECONDS} seconds'
  returning process_id, command, asked_at
)
select command from asked
where process_id = $1 and asked_at > clock_timestamp() - interval '${COMMAND_SECONDS} seconds' order by asked_at`;

const READ = `
select process_id as id, figures from process_figures
where at > clock_timestamp() - interval '${FRESH_SECONDS} seconds' order by process_id limit $1`;

/** More processes than one screen shows. */
const MOST_PROCESSES = 64;

export interface ReportedFigures<Figures> {
  readonly id: string;
  readonly figures: Figures;
}

/** Reports the figures of this process. @returns the commands for it since the last report */
export async function reportFigures<Command>(database: Database, id: string, figures: object): Promise<Command[]> {
  const { rows } = await database.query<{ command: Command }>({
    name: 'report-figures',
    text: REPORT,
    values: [id, JSON.stringify(figures)],
  });
  return rows.map(({ command }) => command);
}

/** Figures of every running process. */
export async function readFigures<Figures>(database: Database): Promise<ReportedFigures<Figures>[]> {
  const query = { name: 'read-figures', text: READ, values: [MOST_PROCESSES] };
  return (await database.query<ReportedFigures<Figures>>(query)).rows;
}

export async function forgetFigures(database: Database, id: string): Promise<void> {
  await database.query('delete from process_figures where process_id = $1', [id]);
}

/** Sends a command to a process. @returns false if it is not running */
export async function askProcess(database: Database, processId: string, command: object): Promise<boolean> {
  const text = `
    insert into process_commands (process_id, id, command)
    select process_id, gen_random_uuid(), $2 from process_figures
    where process_id = $1 and at > clock_timestamp() - interval '${FRESH_SECONDS} seconds'`;
  const { rowCount } = await database.query(text, [processId, JSON.stringify(command)]);
  return rowCount === 1;
}
