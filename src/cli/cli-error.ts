import { CryptoError, NotFound, RequestRejected, SimulatorError, StartError, UserFixableError } from '../errors.ts';
import { REJECTIONS } from '../http/rejections.ts';

/** What is told of an error on standard error, and how the process ends by it. */
export interface CliError {
  readonly description: string;
  /** 2 when the words of the command are at fault, before anything was done. */
  readonly exitCode: 1 | 2;
}

/** Of an error that whoever gave the command can mend; undefined for errors of our own, whose stack somebody must see. */
export function toCliError(error: unknown): CliError | undefined {
  if (error instanceof StartError && error.code === 'BAD_USAGE') return { description: error.reason, exitCode: 2 };
  const description = reasonOf(error);
  return description === undefined ? undefined : { description: `tapwire: ${description}`, exitCode: 1 };
}

/** One sentence, what is at fault and why. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof UserFixableError) return error.reason;
  if (error instanceof SimulatorError || error instanceof CryptoError) return error.message;
  if (error instanceof NotFound) return 'There is no such acquirer, or none of that name at it.';
  if (error instanceof RequestRejected) return [REJECTIONS[error.code].detail, ...faultsOf(error)].join('\n');
  const { code, message } = error as { code?: unknown; message?: unknown };
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS') ? String(message) : undefined;
}

function faultsOf({ errors = [] }: RequestRejected): string[] {
  return errors.map(({ pointer, detail }) => `  ${pointer}: ${detail}`);
}
