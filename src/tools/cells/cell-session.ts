import { describeSystemError } from '../../basics/errors/system-error.ts';
import { destroyConnection, LimitedClient } from '../../store/postgres/open-database.ts';
import { SET_FORMATS, TCP_SETTINGS } from '../../store/postgres/session-limits.ts';
import { type Cell, CellError } from './cell-list.ts';

const SECOND = 1_000;
/** Statements take milliseconds, except those that insert all jobs of an acquirer, or wait for a lock. */
const STATEMENT_MS = 15 * SECOND;
/** A statement may delete all rows of an acquirer, or wait for all transactions of the cell before it makes a slot. */
const LONG_STATEMENT_MS = 3_600 * SECOND;
/** The server ends a statement first, if it responds. A server that is silent for longer is unavailable. */
const RESPOND_AFTER_MS = 5 * SECOND;
const LOCK_TIMEOUT = '3s';
/** A command that was stopped inside a transaction (Ctrl-Z) must not keep its locks. */
const IDLE_TIMEOUT = '1s';
/** The locks of a command whose host has vanished are released within seconds. */
const KEEP_ALIVE = Object.entries(TCP_SETTINGS).map(([name, value]) => `set ${name} = ${value}`);

/** One session in the database of a cell. Locks that it takes last until it ends, with the command. */
export interface CellSession {
  readonly cell: Cell;
  /**
   * Runs a statement and returns its rows.
   *
   * @throws CellError CELL_UNREACHABLE if the session is lost or the server stays silent
   */
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /**
   * Like `query`, for a statement that may take up to an hour, waits for others included: a replication slot waits for
   * every transaction of the server that is older. Not in a transaction.
   */
  queryLong(text: string, values?: readonly unknown[]): Promise<void>;
  /** Runs `work` between begin and commit. A rollback follows what it throws. */
  transaction<Result>(work: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Limits of a session, shorter in tests. */
export interface SessionTimes {
  readonly statementMs?: number;
  readonly respondAfterMs?: number;
}

/** @throws CellError CELL_UNREACHABLE */
export async function openCellSession(cell: Cell, times: SessionTimes = {}): Promise<CellSession> {
  const { name, databaseUrl } = cell;
  const { statementMs = STATEMENT_MS, respondAfterMs = RESPOND_AFTER_MS } = times;
  const client = new LimitedClient({ connectionString: databaseUrl, application_name: 'tapwire-cell' });
  client.on('error', () => {}); // the next statement fails
  const run = async <Row extends object>(limitMs: number, text: string, values: readonly unknown[] = []) => {
    try {
      return (await withinTime(client, limitMs + respondAfterMs, client.query<Row>(text, [...values]))).rows;
    } catch (cause) {
      const { severity = 'FATAL' } = cause as { severity?: string };
      if (!['FATAL', 'PANIC'].includes(severity)) throw cause; // an error of the statement: the session remains
      throw unreachable(name, cause);
    }
  };
  const query = <Row extends object>(text: string, values?: readonly unknown[]) => run<Row>(statementMs, text, values);
  const setLimits = (limitMs: number, lockTimeout: string) =>
    query(`set statement_timeout = ${limitMs}; set lock_timeout = '${lockTimeout}'`);
  try {
    await client.connect();
    const limits = [
      `set statement_timeout = ${statementMs}`,
      `set lock_timeout = '${LOCK_TIMEOUT}'`,
      `set idle_in_transaction_session_timeout = '${IDLE_TIMEOUT}'`,
    ];
    await query([...limits, ...KEEP_ALIVE, SET_FORMATS].join('; '));
  } catch (cause) {
    await client.end().catch(() => {});
    throw cause instanceof CellError ? cause : unreachable(name, cause);
  }
  return {
    cell,
    query,
    queryLong: async (text, values) => {
      await setLimits(LONG_STATEMENT_MS, '0');
      try {
        await run(LONG_STATEMENT_MS, text, values);
      } finally {
        await setLimits(statementMs, LOCK_TIMEOUT).catch(() => {}); // the session is lost
      }
    },
    transaction: (work) => inTransaction(query, work),
    close: () => client.end().catch(() => {}),
  };
}

async function inTransaction<Result>(query: CellSession['query'], work: () => Promise<Result>): Promise<Result> {
  await query('begin');
  try {
    const result = await work();
    await query('commit');
    return result;
  } catch (error) {
    await query('rollback').catch(() => {}); // the session is lost, and its transaction with it
    throw error;
  }
}

/** A server that stays silent loses its connection: nothing that it sends later is read. */
async function withinTime<Result>(client: LimitedClient, limitMs: number, result: Promise<Result>): Promise<Result> {
  let isSilent = false;
  const timer = setTimeout(() => {
    isSilent = true;
    destroyConnection(client);
  }, limitMs);
  try {
    return await result;
  } catch (cause) {
    throw isSilent ? new Error('timeout', { cause }) : cause;
  } finally {
    clearTimeout(timer);
  }
}

function unreachable(name: string, cause: unknown): CellError {
  const reason = describeSystemError(cause);
  return new CellError('CELL_UNREACHABLE', `The database of cell ${name} cannot be used: ${reason}`, { cause });
}
