import { TapwireError } from './tapwire-error.ts';

/** Why a load test cannot be run as asked, or its files not be read. */
export type LoadErrorCode = 'BAD_OPTION' | 'BAD_FILE' | 'REFUSED' | 'UNREACHABLE' | 'WORKER_BROKEN';

/** Shown to whoever asked, in one line. */
export class LoadError extends TapwireError<LoadErrorCode> {
  /** A sentence that names the word at fault. */
  readonly reason: string;

  constructor(code: LoadErrorCode, reason: string, options?: ErrorOptions) {
    super(code, reason, options);
    this.reason = reason;
  }
}
