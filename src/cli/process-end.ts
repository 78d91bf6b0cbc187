/** What a shell reports for a program that ended by SIGPIPE. Node ignores that signal. */
const ENDED_BY_PIPE = 141;

/** For a device that is full, or a file that cannot be written: what the command has printed, such as a new key, is lost. */
const NOT_PRINTED = 1;

/**
 * Ends this process quietly when the reader of its output has left, as in `tapwire simulate | head`. A command that
 * stops on request stops as if it were asked to.
 */
export function endWithReader(stream: NodeJS.WriteStream): void {
  let isEnding = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (isEnding) return;
    isEnding = true;
    if (error.code !== 'EPIPE') {
      if (stream === process.stdout) console.error(`tapwire: the output could not be written (${error.code})`);
      process.exit(NOT_PRINTED);
    }
    if (process.listenerCount('SIGTERM') > 0) process.kill(process.pid, 'SIGTERM');
    else process.exit(ENDED_BY_PIPE);
  });
}

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
