import type { NetworkRequestKind } from '../../kits/processor-kit/index.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** What a switch does automatically, without a request. */
export interface TimetableOptions {
  readonly echoEveryMs?: number | undefined;
  /** The acquirer signs on again. */
  readonly signOffEveryMs?: number | undefined;
  /** Minutes after midnight UTC of the cut-over to the next business day. Default: no cut-over. */
  readonly cutOverAtMinute?: number | undefined;
  readonly changeKeysEveryMs?: number | undefined;
}

export interface TimetableActs {
  readonly ask: (kind: NetworkRequestKind) => Promise<unknown>;
  readonly changeKeys: () => Promise<unknown>;
}

/** Starts the timers of a timetable. @returns a function that ends them */
export function startTimetable(
  { echoEveryMs, signOffEveryMs, cutOverAtMinute, changeKeysEveryMs }: TimetableOptions,
  { ask, changeKeys }: TimetableActs,
): () => void {
  const timers = new Set<NodeJS.Timeout>();
  const every = (ms: number | undefined, act: () => Promise<unknown>) => {
    if (ms !== undefined) timers.add(setInterval(() => void act(), ms).unref());
  };
  every(echoEveryMs, () => ask('echo'));
  every(signOffEveryMs, () => ask('signOff'));
  every(changeKeysEveryMs, changeKeys);
  let cutOver: NodeJS.Timeout | undefined;
  const awaitCutOver = (minute: number) => {
    cutOver = setTimeout(
      () => {
        void ask('cutOver');
        awaitCutOver(minute);
      },
      msUntil(minute, Date.now()),
    ).unref();
  };
  if (cutOverAtMinute !== undefined) awaitCutOver(cutOverAtMinute);
  return () => {
    for (const timer of timers) clearInterval(timer);
    clearTimeout(cutOver);
  };
}

/** More than 0: at the minute itself, the time until the next day. */
export function msUntil(minuteOfDay: number, nowMs: number): number {
  const passedMs = nowMs % DAY_MS;
  return ((minuteOfDay * MINUTE_MS - passedMs + DAY_MS - 1) % DAY_MS) + 1;
}
