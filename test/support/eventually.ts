/** Longer than anything here takes on a machine that does ten other things; nothing waits for it but a test that fails. */
const WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 15;

/**
 * Looks again and again until `look` does not throw, and gives what it gave: for what happens by itself soon, and has no
 * event to wait for.
 *
 * @throws what `look` threw last, when the time is over
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
