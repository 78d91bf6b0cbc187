/** Longer than anything here takes on a very busy machine; only a failing test waits this long. */
const WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 15;

/**
 * Repeats `look` until it does not throw, and returns its value. For changes that occur soon and have no event to wait
 * for.
 *
 * @throws the last error of `look`, when the time is over
 */
export async function eventually<T>(look: () => T | Promise<T>, withinMs = WITHIN_MS): Promise<T> {
  const giveUpAtMs = performance.now() + withinMs;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > giveUpAtMs) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
