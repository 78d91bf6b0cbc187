import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_EVERY_MS = 15;

/** @returns whether it became true in time */
export async function until(endsAtMs: number, isTrue: () => Promise<boolean>): Promise<boolean> {
  for (;;) {
    if (await isTrue()) return true;
    if (performance.now() >= endsAtMs) return false;
    await sleep(LOOK_EVERY_MS);
  }
}
