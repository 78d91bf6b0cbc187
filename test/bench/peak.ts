import { CONNECTIONS, MAX_PER_SECOND, type Parts } from './e2e.ts';
import { checked, saturate } from './http-load.ts';

export const WARM_UP_SECONDS = 3;
export const PEAK_SECONDS = 6;

/** The capacity in taps per second. Closed loop: each connection sends its next tap when it has a response. */
export async function measurePeak({ taps, gatewayPort }: Parts, seconds: number): Promise<number> {
  await taps.prepare(seconds * MAX_PER_SECOND);
  return checked(await saturate([gatewayPort], CONNECTIONS, seconds, taps.next)).perSecond;
}
