/**
 * Makes one run of `work` serve many callers. At most one run is active and one is wanted: calls during a run share the
 * next one, which sees what they have changed before.
 */
export function shareRuns(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function start(): Promise<void> {
    next = undefined;
    running = work().finally(() => {
      running = undefined;
    });
    return running;
  }

  return () => {
    if (running === undefined) return next ?? start();
    next ??= running.then(start, start);
    return next;
  };
}
