import { CryptoError, NotFound, RequestRejected, StartError, type TapwireError, UserFixableError } from '../errors.ts';
import { REJECTIONS } from '../http/rejections.ts';

/** The text that standard error shows for an error, and the exit code. */
export interface CliError {
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

/** One sentence with the fault and its cause. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof UserFixableError) return error.reason;
  if (error instanceof CryptoError) return sentenceOf(error);
  if (error instanceof NotFound) return 'This acquirer does not exist, or it has no entry with this id.';
  if (error instanceof RequestRejected) return [REJECTIONS[error.code].detail, ...faultsOf(error)].join('\n');
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

/** What an error says, without its code: a person reads the sentence. */
export function sentenceOf({ code, message }: TapwireError): string {
  return message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message;
}

/** The database has refused a write of an acquirer (migration 0037). */
function isServedElsewhere(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } };
  return code === '23T03' || cause?.code === '23T03';
}

function faultsOf({ errors = [] }: RequestRejected): string[] {
  return errors.map(({ pointer, detail }) => `  ${pointer}: ${detail}`);
}
