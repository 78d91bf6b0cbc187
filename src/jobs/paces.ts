import type { QueueName } from '#schemas/jobs';
import type { Ration } from './ration-by-load.ts';

/** How fast a process works through one queue. */
export interface Pace {
  /** How many jobs may be worked on at once. */
  readonly credits: number;
  /** How many jobs more may wait for somebody who is slow, without a hand. */
  readonly released?: number;
  /** The longest a ready job lies unseen. */
  readonly pollMs: number;
  /** Of a queue that must not have its way beside taps: how many jobs one look may take. */
  readonly ration?: Ration;
}

/** Recovery of an orphan is counted in seconds. */
const SOON_MS = 500;
/** Somebody stands at a till. A wake-up usually comes first. */
const AT_ONCE_MS = 250;

export const PACES: Readonly<Record<QueueName, Pace>> = {
  // Each holds a place at a switch for up to a deadline; above this many the queue is the better place to wait.
  authorize: { credits: 512, pollMs: AT_ONCE_MS },
  // Rare; a day's worth of them in one file of a merchant's must not take the lines from taps.
  refund: { credits: 32, pollMs: AT_ONCE_MS },
  overdue: { credits: 64, pollMs: SOON_MS },
  'expire-pin': { credits: 32, pollMs: SOON_MS },
  // Every link has one, and nobody waits for it: a day's links may expire in one minute without taps noticing. A reference
  // that is wanted before its job has come by is freed by whoever wants it.
  'expire-link': { credits: 16, pollMs: 1_000 },
  // First attempts run ahead of their jobs, so what is found here are repeats, or all that an outage has left: ten thousand at
  // once, through which each look has to sort. Beside taps at full load 16 of them go out a second.
  reverse: { credits: 64, pollMs: SOON_MS, ration: { idle: 64, busy: 8 } },
  // Each holds a place at a switch; a tenth of what taps may take of one line.
  complete: { credits: 48, pollMs: SOON_MS },
  // Most wait for a receiver, and some for a dead one. Nobody stands at a till for a webhook, and each look costs what a dozen
  // of them cost: 2,000 a second for a process with nothing else to do, 60 and more beside taps at full load.
  // Receivers that hang are waited for without a hand, each with a socket: far fewer than a process may have open.
  webhook: { credits: 256, released: 4_096, pollMs: 200, ration: { idle: 400, busy: 12 } },
  // They wait for the push service alone, and only while it is away.
  push: { credits: 32, pollMs: SOON_MS },
  // Old data waits for a purge, and then for the next: there is no hurry in either.
  purge: { credits: 1, pollMs: 5_000 },
};
