/** Within what a STAN is unique: a terminal of an acquirer's, or all of its messages. */
export interface StanScope {
  readonly acquirerId: number;
  /** DE41, at most 8 characters; a longer text names something that is no terminal. Null: the whole acquirer. */
  readonly tid: string | null;
}

/** Where the numbers of DE11 come from. */
export interface Stans {
  /** The next one of a scope; undefined when its business day (`2026-11-20`) has none left. */
  next(scope: StanScope, day: string): Promise<string | undefined>;
}

/** The business dates of switches, as they tell them. */
export interface BusinessDates {
  /** By which an acquirer's numbers are counted, `2026-11-20`. */
  current(acquirerId: number): string;
  /** A switch has cut over, or has named its settlement date (MMDD). */
  announce(processor: { readonly acquirerId: number; readonly processorId: number }, monthDay?: string): void;
}
