import { describeSystemError } from '../errors/system-error.ts';
import { LimitedClient } from '../store/postgres/limited-client.ts';
import { DATABASE_URL_FORM, isDatabaseUrl } from '../store/postgres/open-database.ts';
import { SET_FORMATS, TCP_SETTINGS } from '../store/postgres/session-limits.ts';
import { CellError } from './cell-error.ts';
import type { Cell } from './cell-list.ts';

/** A statement may delete or index all rows of an acquirer. Statements of the cut-over have shorter limits. */
const STATEMENT_TIMEOUT = '1h';
const LOCK_TIMEOUT = '3s';
/** A command that was stopped inside a transaction (Ctrl-Z) must not keep its locks. */
const IDLE_TIMEOUT = '1s';
/** The locks of a command whose host has vanished are released within seconds. */
const KEEP_ALIVE = Object.entries(TCP_SETTINGS).map(([name, value]) => `set ${name} = ${value}`);

/** One session in the database of a cell. Locks that it takes last until it ends, with the command. */
export interface CellSession {
  readonly cell: Cell;
  /** Runs a statement and returns its rows. */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Runs `work` between begin and commit. A rollback follows what it throws. */
  transaction<Result>(work: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** @throws CellError CELL_UNREACHABLE */
export async function openCellSession(cell: Cell): Promise<CellSession> {
  const { name, databaseUrl } = cell;
  if (!isDatabaseUrl(databaseUrl))
    throw new CellError('CELLS_INVALID', `The database URL of cell ${name} is invalid. Expected ${DATABASE_URL_FORM}.`);
  const client = new LimitedClient({ connectionString: databaseUrl, application_name: 'tapwire-cell' });
  client.on('error', () => {}); // the next statement fails
  try {
    await client.connect();
    const limits = [
      `set statement_timeout = '${STATEMENT_TIMEOUT}'`,
      `set lock_timeout = '${LOCK_TIMEOUT}'`,
      `set idle_in_transaction_session_timeout = '${IDLE_TIMEOUT}'`,
    ];
    await client.query([...limits, ...KEEP_ALIVE, SET_FORMATS].join('; '));
  } catch (cause) {
    await client.end().catch(() => {});
    const reason = describeSystemError(cause);
    throw new CellError('CELL_UNREACHABLE', `The database of cell ${name} cannot be used: ${reason}`, { cause });
  }
  const query = async <Row extends object>(text: string, values: readonly unknown[] = []) =>
    (await client.query<Row>(text, [...values])).rows;
  return {
    cell,
    query,
    transaction: async (work) => {
      await client.query('begin');
      try {
        const result = await work();
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback').catch(() => {}); // the session is lost, and its transaction with it
        throw error;
      }
    },
    close: () => client.end().catch(() => {}),
  };
}
