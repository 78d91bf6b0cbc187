/** The exports of `tlv.ts` and `iso8583.ts` in this folder. */
export interface FuzzTarget {
  /** Passes the bytes to a parser and throws if it violates an invariant; a typed refusal is not a finding. */
  fuzz(data: Buffer): void;
}

/** One run of an engine. */
export interface FuzzJob {
  /** The module that exports a `FuzzTarget`. */
  readonly targetUrl: string;
  readonly seconds: number;
  /** The same seed and corpus give the same inputs. */
  readonly seed: number;
  /** A folder of inputs to start from; inputs that reach something new are added. */
  readonly corpus: string;
  /** Prefix of the path of a finding. */
  readonly findings: string;
}

/**
 * The limits of blobs (256 objects, DE lengths of 999) can all be reached within this; longer inputs only cost time.
 */
export const MAX_INPUT_BYTES = 4_096;
/** A parser that takes this long for `MAX_INPUT_BYTES` hangs. */
export const HANG_MS = 5_000;
