/** Work that is repeated until it is stopped. */
export interface Repetition {
  /** Starts no further run; resolves when the current one has ended. */
  stop(): Promise<void>;
}

/**
 * Runs `work` again and again, `everyMs` after the end of the run before, so that slow runs do not overlap. The timer
 * keeps no process alive.
 *
 * @param onError called with what a run throws; the next run follows all the same
 */
export function repeatEvery(
  everyMs: number,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void = () => {},
): Repetition {
  let isStopped = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout;

  async function run(): Promise<void> {
    try {
      await work();
    } catch (error) {
      onError(error);
    } finally {
      if (!isStopped) schedule();
    }
  }

  function schedule(): void {
    timer = setTimeout(() => {
      running = run();
    }, everyMs).unref();
  }

  schedule();
  return {
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
