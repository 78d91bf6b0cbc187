/** Work that is repeated until it is stopped. */
export interface Repetition {
  /** Starts a run now instead of at its time, or directly after the current one. */
  runSoon(): void;
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
  let isRunning = false;
  let isWanted = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout;

  async function run(): Promise<void> {
    isRunning = true;
    isWanted = false;
    try {
      await work();
    } catch (error) {
      onError(error);
    } finally {
      isRunning = false;
      if (!isStopped) schedule(isWanted ? 0 : everyMs);
    }
  }

  function schedule(inMs: number): void {
    timer = setTimeout(() => {
      running = run();
    }, inMs).unref();
  }

  schedule(everyMs);
  return {
    runSoon: () => {
      isWanted = true;
      if (isRunning || isStopped) return;
      clearTimeout(timer);
      schedule(0);
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
