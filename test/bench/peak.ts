import { CONNECTIONS, MAX_PER_SECOND, type Parts } from './e2e.ts';
import { checked, saturate } from './http-load.ts';
import { processorTime } from './processor-time.ts';

export const WARM_UP_SECONDS = 3;
export const PEAK_SECONDS = 6;

/** The capacity in taps per second. Closed loop: each connection sends its next tap when it has a response. */
export async function measurePeak({ taps, gatewayPort }: Parts, seconds: number): Promise<number> {
  await taps.prepare(seconds * MAX_PER_SECOND);
  return checked(await saturate([gatewayPort], CONNECTIONS, seconds, taps.next)).perSecond;
}

/** At full load, of taps that are prepared. */
export interface FullLoad {
  readonly tapsPerSecond: number;
  /** Processor time of gateway and Postgres, which other work on the machine does not affect. */
  readonly microsecondsPerTap: number;
}

export async function measureFullLoad({ taps, gatewayPort, pids }: Parts, seconds: number): Promise<FullLoad> {
  const before = processorTime(pids);
  const { perSecond, responded } = checked(await saturate([gatewayPort], CONNECTIONS, seconds, taps.next));
  const after = processorTime(pids);
  const used = (part: string) => after[part]! - before[part]!;
  return { tapsPerSecond: perSecond, microsecondsPerTap: ((used('gateway') + used('Postgres')) * 1e6) / responded };
}
