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
