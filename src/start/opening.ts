import type { Log } from '../observe/log.ts';
import type { Config } from './config.ts';

/** Creates a function that logs background faults under the given phrase, those of one kind at most once in ten seconds. */
export type Report = (what: string) => (error: unknown, about?: Readonly<Record<string, unknown>>) => void;

/** Functions that close a resource when the gateway stops, in the order in which the resources were opened. */
export type Closers = (() => unknown)[];

/** What each function that opens a part of the gateway receives. */
export interface Opening {
  readonly config: Config;
  readonly log: Log;
  readonly report: Report;
  readonly closers: Closers;
}

/** Closes in the reverse order; a fault in one does not prevent the others. */
export async function closeAll(closers: Closers): Promise<void> {
  for (const close of closers.splice(0).reverse()) await Promise.try(close).catch(() => {});
}
