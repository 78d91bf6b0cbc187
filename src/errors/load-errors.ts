import { UserFixableError } from './tapwire-error.ts';

/** Why a load test cannot be run as asked, or its files not be read. */
export type LoadErrorCode = 'BAD_OPTION' | 'BAD_FILE' | 'REFUSED' | 'UNREACHABLE' | 'WORKER_BROKEN';

export class LoadError extends UserFixableError<LoadErrorCode> {}
