import { UserFixableError } from './tapwire-error.ts';

/** Why a load test cannot run as requested, or its files cannot be read. */
export type LoadErrorCode = 'BAD_OPTION' | 'BAD_FILE' | 'REFUSED' | 'UNREACHABLE' | 'WORKER_BROKEN';

export class LoadError extends UserFixableError<LoadErrorCode> {}
