/**
 * More than ten times what anything here takes on a quiet machine, and less than the limit of a test, which could not say
 * what was awaited. Only a failing test waits this long.
 */
const WITHIN_MS = 240_000;
/**
 * The first pause between two looks. The pauses grow with the time that has passed, because each look takes processor
 * time from what it waits for.
 */
const LEAST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 150;
const PAUSE_PER_MS_PASSED = 0.15;

/**
 * Repeats `look` until it does not throw, and returns its value. For changes that occur soon and have no event to wait
 * for.
 *
 * @throws the last error of `look`, when the time is over
 */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = WITHIN_MS): Promise<T> {
  const startedAtMs = performance.now();
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > startedAtMs + withinMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs(performance.now() - startedAtMs)));
  }
}

function pauseMs(passedMs: number): number {
  return Math.min(MAX_PAUSE_MS, Math.max(LEAST_PAUSE_MS, passedMs * PAUSE_PER_MS_PASSED));
}
