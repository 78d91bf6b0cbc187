/**
 * SQLSTATEs with which a server describes its own condition and not a fault of the statement (PostgreSQL appendix
 * A):
 *
 * - 08: connection exceptions, including those of poolers
 * - 40: transaction rollback: serialization failures, deadlocks, completion unknown
 * - 53: insufficient resources: disk full, out of memory, too many connections
 * - 57: operator intervention: statement timeout, shutdown, crash, cannot connect now
 * - 58: errors of the underlying system, such as a failing disk
 * - 25006: read-only: a standby that was not promoted yet
 * - 23T03: of this gateway: the acquirer is being moved, or another cell serves it (refuse_served_elsewhere)
 * - 25P03, 25P04, 55P03: idle in a transaction, transaction and lock timeouts
 */
const CONDITIONS = /^(08...|40...|53...|57...|58...|25006|23T03|25P0[34]|55P03)$/;
/** FATAL or PANIC ends or refuses the session for any reason: no statement can run in it. */
const ENDS_SESSION = /^(FATAL|PANIC)$/;
/** Error codes of Node's sockets. ENOENT is a Unix socket without its server. */
const LOST_SOCKET = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOENT|EAI_AGAIN|ENOTFOUND)$/;
/** Messages of pg and its pool about connections, which have no code. */
const LOST_CLIENT =
  /^(Connection terminated|timeout e|Client (has encountered a connection error|was closed)|Cannot use a pool after calling end)/;

/** Whether the server itself reported the error: the connection to it works, or a new one may. */
export function isOfServer(error: unknown): boolean {
  return error instanceof Error && typeof (error as { severity?: unknown }).severity === 'string';
}

/**
 * Whether the database was unavailable, or refused for a reason that is temporary or that an operator can fix; never
 * a bug.
 */
export function isStoreCondition(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, severity, syscall } = error as { code?: unknown; severity?: unknown; syscall?: unknown };
  if (typeof severity === 'string') return ENDS_SESSION.test(severity) || CONDITIONS.test(String(code));
  if (typeof code === 'string')
    return LOST_SOCKET.test(code) && (syscall !== undefined || error instanceof AggregateError);
  return LOST_CLIENT.test(error.message);
}
