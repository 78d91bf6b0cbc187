import type pg from 'pg';

/**
 * Time limits of a session by purpose. Four limits are set in the session itself, so that the server ends what a dead
 * client left behind. This process enforces `heldMs` (open-database.ts), for a server that no longer responds. The
 * server's limits are shorter: a running server responds with an error before its connection is destroyed.
 */
export interface SessionLimits {
  /** Wait for a client of the pool if all are taken. */
  readonly waitMs: number;
  /** Limit of opening a connection; 4 s unless given. */
  readonly connectMs?: number;
  readonly statementMs: number;
  readonly lockMs: number;
  /** A transaction with a silent client holds its locks no longer than this. */
  readonly idleInTransactionMs: number;
  /** A whole transaction; Postgres 17 and newer. */
  readonly transactionMs: number;
  /** Limit from taking a client of the pool until its return. */
  readonly heldMs: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/**
 * On the path of a tap a customer waits at a till: a statement takes milliseconds, and a fault must end within
 * seconds. Locks of a dead gateway are released after `idleInTransactionMs` and the time of its last statement.
 */
const TAP: SessionLimits = {
  waitMs: 5 * SECOND,
  statementMs: 4 * SECOND,
  lockMs: 3 * SECOND,
  idleInTransactionMs: 8 * SECOND,
  transactionMs: 8 * SECOND,
  heldMs: 6 * SECOND,
};

export const SESSION_LIMITS = {
  tap: TAP,
  /** A scan of a hundred thousand jobs takes longer than a tap may; its locks must not. */
  job: { ...TAP, waitMs: 20 * SECOND, statementMs: 9 * SECOND, transactionMs: 10 * SECOND, heldMs: 11 * SECOND },
  /** Lists, figures, the command line and a batch of a purge: they read much, on a disk that may be busy. */
  report: { ...TAP, waitMs: 15 * SECOND, statementMs: 30 * SECOND, transactionMs: 40 * SECOND, heldMs: 45 * SECOND },
  /** One process migrates, the others wait for its lock; a large table may be rewritten. */
  migration: {
    waitMs: MINUTE,
    statementMs: 60 * MINUTE,
    lockMs: 60 * MINUTE,
    idleInTransactionMs: MINUTE,
    transactionMs: 90 * MINUTE,
    heldMs: 95 * MINUTE,
  },
  /** Reads every row of the ledger in one snapshot. No client waits for it, so a busy server has time to accept it. */
  ledger: {
    waitMs: MINUTE,
    connectMs: MINUTE,
    statementMs: 60 * MINUTE,
    lockMs: MINUTE,
    idleInTransactionMs: MINUTE,
    transactionMs: 90 * MINUTE,
    heldMs: 95 * MINUTE,
  },
} as const satisfies Record<string, SessionLimits>;

/**
 * A client whose host has lost power sends no FIN: the server probes after 3 s of silence, each second, five times.
 * Unacknowledged data has the same limit. On a Unix socket these settings have no effect and read as 0.
 */
export const TCP_SETTINGS = {
  tcp_keepalives_idle: 3,
  tcp_keepalives_interval: 1,
  tcp_keepalives_count: 5,
  tcp_user_timeout: 8 * SECOND,
} as const;

/** The server's settings, in the units of `pg_settings`. */
export function serverSettings(limits: SessionLimits): Readonly<Record<string, number>> {
  return {
    statement_timeout: limits.statementMs,
    lock_timeout: limits.lockMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
    transaction_timeout: limits.transactionMs,
    ...TCP_SETTINGS,
  };
}

/** A setting that the server does not have (`transaction_timeout` before Postgres 17) is omitted. */
const SET = `select set_config(name, value, false) from unnest($1::text[], $2::text[]) as wanted(name, value)
  where current_setting(name, true) is not null`;

/**
 * Postgres compiles a statement if its plan seems expensive, which takes a second of processor time at each execution.
 * The plans of batches seem so, because scans are off (open-database.ts): the planner adds 10,000,000,000 to their costs.
 */
const NO_COMPILATION = 'off';

/**
 * The server writes dates, times and intervals as text in the format of the session, which an operator may have chosen
 * for the server, the database or the account. This process reads and compares them in these.
 */
const FORMATS = { DateStyle: 'ISO, MDY', IntervalStyle: 'postgres', TimeZone: 'UTC' } as const;

/** For sessions that have limits of their own. */
export const SET_FORMATS = Object.entries(FORMATS)
  .map(([name, value]) => `set ${name} = '${value}'`)
  .join('; ');

/**
 * Sets the limits and formats of a session in one statement. As startup parameters they would make a server that lacks one of
 * them, or a pooler that does not pass them on, refuse the connection.
 *
 * @param further settings of the session
 */
export async function limitSession(
  client: pg.ClientBase,
  limits: SessionLimits,
  further: Readonly<Record<string, string>> = {},
): Promise<void> {
  const settings = { ...serverSettings(limits), ...FORMATS, jit: NO_COMPILATION, ...further };
  await client.query(SET, [Object.keys(settings), Object.values(settings).map(String)]);
}
