import {
  CryptoError,
  LoadError,
  NotFound,
  ProcessorError,
  RequestRefused,
  SimulatorError,
  StartError,
} from '../errors.ts';

/**
 * What to tell about an error that whoever gave the command can mend: one sentence, what is at fault and why. Undefined
 * for errors of our own, whose stack somebody must see.
 */
export function complaintOf(error: unknown): string | undefined {
  if (error instanceof StartError || error instanceof ProcessorError || error instanceof LoadError) return error.reason;
  if (error instanceof SimulatorError || error instanceof CryptoError) return error.message;
  if (error instanceof NotFound) return 'There is no such acquirer, or none of that name at it.';
  if (error instanceof RequestRefused) return [error.detail, ...faultsOf(error)].join('\n');
  const { code, message } = error as { code?: unknown; message?: unknown };
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS') ? String(message) : undefined;
}

function faultsOf({ errors = [] }: RequestRefused): string[] {
  return errors.map(({ pointer, detail }) => `  ${pointer}: ${detail}`);
}
