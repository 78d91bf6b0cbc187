export const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Resolves with the first of the signals that ask to stop. A second one ends the process at once. */
export function untilAskedToStop(signals: readonly NodeJS.Signals[] = STOP_SIGNALS): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      process.once(signal, () => {
        resolve(signal);
        process.once(signal, () => process.exit(130));
      });
    }
  });
}
