import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../../errors.ts';

/** Longer than a database takes to restart or to be replaced, shorter than the claim of any job that waits here. */
const FOR_MS = 30_000;
const AGAIN_MS = 1_000;

/**
 * Writes what a switch has said, again while the database is unavailable: it will not be said a second time before the next
 * attempt, which may be due an hour later. The write is guarded, so that one that was stored without our knowing changes
 * nothing when it is repeated.
 *
 * @throws StoreUnavailable when the database stays unavailable
 */
export async function untilStored<T>(
  write: () => Promise<T>,
  { forMs = FOR_MS, againMs = AGAIN_MS }: { readonly forMs?: number; readonly againMs?: number } = {},
): Promise<T> {
  const untilMs = performance.now() + forMs;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() > untilMs) throw error;
    }
    await sleep(againMs);
  }
}
