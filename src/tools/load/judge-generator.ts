import { cpus } from 'node:os';
import type { LoadResult } from '#schemas/load-result';
import { Histogram } from './histogram.ts';
import type { LoadRecord } from './load-run.ts';
import type { MachineSample } from './machine-watch.ts';

/**
 * Timers and the gateway's responses take a few milliseconds; if calls are sent later than this, the figures are
 * distorted.
 */
const MAX_LAG_P99_MS = 20;
/** Above this an event loop forms queues of its own (M/D/1: at 90 % a call waits for five others). */
const MAX_BUSY = 0.9;
/** One call in a thousand. */
const MAX_MISSED_SHARE = 0.001;
/** Share of the machine. What other programs use is not available to the gateway and the generator. */
const MAX_OTHERS_SHARE = 0.25;

/** Whether the figures describe the gateway, or a generator that could not keep up. */
export function judgeGenerator(
  { total, seconds, sendingSeconds }: LoadRecord,
  workers: number,
  samples: readonly MachineSample[],
): LoadResult['generator'] {
  const lags = new Histogram();
  lags.add(total.lags);
  const lagP99Ms = lags.percentileMs(0.99);
  const sending = seconds.slice(0, Math.floor(sendingSeconds)).map(({ busy }) => busy);
  const busy = median(sending);
  const missed = total.reasons['too many wait for a connection'] ?? 0;
  const mostWaiting = Math.max(0, ...seconds.map(({ waiting }) => waiting));
  const others = othersOf(samples);
  const description = [
    others > cpus().length * MAX_OTHERS_SHARE &&
      `other programs took ${others.toFixed(1)} of the ${cpus().length} cores of this machine`,
    lagP99Ms !== undefined && lagP99Ms > MAX_LAG_P99_MS && `calls were sent up to ${lagP99Ms.toFixed(0)} ms late (p99)`,
    busy > MAX_BUSY && `its workers were busy ${(busy * 100).toFixed(0)} % of the time: try more of them (--workers)`,
    missed > total.due * MAX_MISSED_SHARE && `${missed} calls found no connection and were given up`,
    mostWaiting > 0 && `up to ${mostWaiting} calls waited for a connection: there were no more (--most-connections)`,
  ].filter((why) => typeof why === 'string');
  return { isLimit: description.length > 0, description, lagP99Ms: lagP99Ms ?? null, busy, workers };
}

/** Cores used by neither the gateway, as far as it runs here, nor the generator; 0 if processes are not visible. */
function othersOf(samples: readonly MachineSample[]): number {
  return median(
    samples.map(({ machineCores, processes }) => {
      const known = Object.values(processes);
      return known.length === 0 ? 0 : machineCores - known.reduce((sum, { cores }) => sum + cores, 0);
    }),
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
