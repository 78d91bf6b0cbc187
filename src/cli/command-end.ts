import { describeSystemError } from '../basics/errors/system-error.ts';
import { CryptoError, NotFound, RequestRejected, StartError, sentenceOf, UserFixableError } from '../basics/errors.ts';
import { REJECTIONS } from '../http/rejections.ts';

/** The text that standard error shows for an error, and the exit code. */
interface CliError {
  readonly description: string;
  /** 2 for wrong arguments, detected before any work; 1 for other errors. */
  readonly exitCode: 1 | 2;
}

/** Describes an error that the user can fix; undefined for an error of the program, whose stack trace is needed. */
export function toCliError(error: unknown): CliError | undefined {
  if (error instanceof StartError && error.code === 'BAD_USAGE') return { description: error.reason, exitCode: 2 };
  const ofArguments = faultOfArguments(error);
  if (ofArguments !== undefined) return { description: `tapwire: ${ofArguments}`, exitCode: 2 };
  const description = reasonOf(error);
  return description === undefined ? undefined : { description: `tapwire: ${description}`, exitCode: 1 };
}

/** Of Postgres: the table, its schema or a column does not exist. */
const MISSING_TABLES: ReadonlySet<unknown> = new Set(['42P01', '3F000', '42703']);
const LACKS_TABLES =
  'The database lacks a table or a column that this command reads. Run tapwire start once with this version, which creates all.';
/** Of files that the user has named, or of the data folder. */
const FILE_FAULTS: ReadonlySet<unknown> = new Set([
  'ENOENT',
  'EISDIR',
  'ENOTDIR',
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
]);

/** One sentence with the fault and its cause. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof UserFixableError) return error.reason;
  if (error instanceof CryptoError) return sentenceOf(error);
  if (error instanceof NotFound) return 'This acquirer does not exist, or it has no entry with this id.';
  if (error instanceof RequestRejected) return [REJECTIONS[error.code].detail, ...faultsOf(error)].join('\n');
  const { code, path, syscall } = error as { code?: unknown; path?: unknown; syscall?: unknown };
  if (MISSING_TABLES.has(code)) return LACKS_TABLES;
  if (typeof path === 'string' && typeof syscall === 'string' && FILE_FAULTS.has(code))
    return `${path}: ${describeSystemError(error)}`;
  if (isServedElsewhere(error))
    return 'Another cell serves this acquirer, or it is being moved. See tapwire cell status.';
  return undefined;
}

/** An option that the command does not have, or that lacks its value. The parser adds advice on `--`, which is cut. */
export function faultOfArguments(error: unknown): string | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code !== 'string' || !code.startsWith('ERR_PARSE_ARGS')) return undefined;
  return `${String(message)
    .split(/\. |\.?\n/, 1)[0]!
    .replace(/\.$/, '')}.`;
}

/** The database has refused a write of an acquirer that is moved or served elsewhere (refuse_served_elsewhere). */
function isServedElsewhere(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  return code === '23T03' || cause?.code === '23T03';
}

function faultsOf({ errors = [] }: RequestRejected): string[] {
  return errors.map(({ pointer, detail }) => `  ${pointer}: ${detail}`);
}

/** What a shell reports for a program that ended by SIGPIPE. Node ignores that signal. */
const ENDED_BY_PIPE = 141;

/** For a device that is full, or a file that cannot be written: what the command has printed, such as a new key, is lost. */
const NOT_PRINTED = 1;

/**
 * Ends this process quietly when the reader of its output has left, as in `tapwire simulate | head`. A command that
 * stops on request stops as if it were asked to.
 */
export function endWithReader(stream: NodeJS.WriteStream): void {
  let isEnding = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (isEnding) return;
    isEnding = true;
    if (error.code !== 'EPIPE') {
      if (stream === process.stdout) console.error(`tapwire: the output could not be written (${error.code})`);
      process.exit(NOT_PRINTED);
    }
    if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
    else process.exit(ENDED_BY_PIPE);
  });
}

export const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Resolves with the first of the signals that ask to stop. A second one ends the process at once. */
export function untilAskedToStop(signals: readonly NodeJS.Signals[] = STOP_SIGNALS): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      process.once(signal, () => {
        resolve(signal);
        process.once(signal, () => process.exit(130));
      });
    }
  });
}
