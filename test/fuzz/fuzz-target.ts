/** What `tlv.ts` and `iso8583.ts` beside this file export. */
export interface FuzzTarget {
  /** Gives the bytes to a parser and throws when a promise about it is broken; a typed refusal is no finding. */
  fuzz(data: Buffer): void;
}

/** One run of an engine. */
export interface FuzzJob {
  /** The module that exports a `FuzzTarget`. */
  readonly targetUrl: string;
  readonly seconds: number;
  /** The same seed and corpus give the same inputs. */
  readonly seed: number;
  /** A folder of inputs to start from, to which those are added that reach something new. */
  readonly corpus: string;
  /** What the path of a finding begins with. */
  readonly findings: string;
}

/** Blobs have limits of their own to be hit (256 objects, DE lengths of 999), all of which fit; longer inputs only cost time. */
export const MAX_INPUT_BYTES = 4_096;
/** No parser may take this long for `MAX_INPUT_BYTES`: it hangs. */
export const HANG_MS = 5_000;
