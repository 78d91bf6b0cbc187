import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '../../basics/errors.ts';

/**
 * Longer than a database takes to restart or to be replaced, and shorter than the claim of any job that waits here.
 */
const FOR_MS = 30_000;
const AGAIN_MS = 1_000;

/**
 * Writes the content of a switch response, and retries while the database is unavailable. The switch does not repeat
 * it before the next attempt, which may be due an hour later. The write is guarded: if it was stored although the
 * connection failed, a repeat changes nothing.
 *
 * @throws StoreUnavailable if the database remains unavailable
 */
export async function untilStored<T>(
  write: () => Promise<T>,
  { forMs = FOR_MS, againMs = AGAIN_MS }: { readonly forMs?: number; readonly againMs?: number } = {},
): Promise<T> {
  const giveUpAtMs = performance.now() + forMs;
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() > giveUpAtMs) throw error;
    }
    await sleep(againMs);
  }
}
