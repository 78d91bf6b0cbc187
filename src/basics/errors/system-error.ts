/** What the operating system, the resolver or Postgres reports, as a sentence that follows a name and a colon. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file.',
  EISDIR: 'It is a folder, expected a file.',
  ENOTDIR: 'A part of the path is a file, expected a folder.',
  EACCES: 'This user has no permission.',
  EPERM: 'This user has no permission.',
  EROFS: 'The file system is read-only.',
  ENOSPC: 'The disk is full.',
  ECONNREFUSED: 'Nothing accepts connections there.',
  ECONNRESET: 'The connection was closed.',
  ENOTFOUND: 'The host name is unknown.',
  EAI_AGAIN: 'The host name cannot be resolved at present.',
  ETIMEDOUT: 'It did not respond in time.',
  EHOSTUNREACH: 'There is no route to the host.',
  ENETUNREACH: 'There is no route to the network.',
  EADDRINUSE: 'Another program uses this port.',
  EADDRNOTAVAIL: 'This machine does not have the address.',
  '28P01': 'The user name or the password is wrong.',
  '28000': 'The server does not allow this user to connect from here.',
  '3D000': 'The server has no database of this name.',
  '53300': 'The server has no free connection.',
  '57P03': 'The server is starting or stopping.',
};

/** pg reports these without a code. */
const WITHOUT_CODE: readonly (readonly [RegExp, string])[] = [
  [/client password must be a string/, 'The server requires a password.'],
  [/does not support SSL/, 'The server does not offer TLS.'],
  [/timeout/i, 'It did not respond in time.'],
  [/terminated unexpectedly/, 'The connection was closed.'],
];

/** The reason of an error from the system, without its code; other errors keep their message. */
export function describeSystemError(error: unknown): string {
  if (error instanceof SyntaxError) return describeJsonError(error);
  const { code, message = '' } = error as { code?: unknown; message?: string };
  const known = typeof code === 'string' ? REASONS[code] : undefined;
  return known ?? WITHOUT_CODE.find(([pattern]) => pattern.test(message))?.[1] ?? (message || 'The reason is unknown.');
}

/** Names the place only: the parser's message quotes the text around it, which can be card data or a secret. */
function describeJsonError({ message }: SyntaxError): string {
  const place = /\(line \d+ column \d+\)/.exec(message)?.[0] ?? '';
  return `It is not JSON${place && ` ${place}`}.`;
}

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
