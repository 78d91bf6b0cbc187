import { expect, test } from 'vitest';
import { mergeReadiness, mergeSwitches } from '../../../src/observe/health.ts';

const ready = { isReady: true, database: 'up', isDraining: false, switches: { '1 1': 'down' } } as const;
const draining = { isReady: false, database: 'up', isDraining: true, switches: { '1 1': 'ready' } } as const;

test('the port serves while one process does, with the best connection of any', () => {
  expect(mergeReadiness([ready, draining])).toEqual({ ...ready, switches: { '1 1': 'ready' } });
  expect(mergeReadiness([draining, draining])).toMatchObject({ isReady: false, isDraining: true });
});

test('the worst status of an HSM device counts', () => {
  const sees = (status: 'ready' | 'circuitOpen') => ({ ...ready, hsm: { 'hsm-1': status, 'hsm-2': 'ready' } }) as const;
  const { hsm } = mergeReadiness([sees('ready'), ready, sees('circuitOpen')]);
  expect(hsm).toEqual({ 'hsm-1': 'circuitOpen', 'hsm-2': 'ready' });
});

test('counts of a switch are added; of times the greatest counts, and bounds remain', () => {
  const stats = (responded: number, lastEchoAtMs: number | null) => ({
    availability: responded > 1 ? 'ready' : 'down',
    responded,
    lastEchoAtMs,
    roundTrips: { boundsMs: [1, 2], counts: [responded, 0], sumMs: 5 },
    keyExchange: undefined,
  });
  expect(mergeSwitches([{ '1 1': stats(1, null) }, { '1 1': stats(2, 9), '2 1': stats(4, 3) }])).toEqual({
    '1 1': {
      availability: 'ready',
      responded: 3,
      lastEchoAtMs: 9,
      roundTrips: { boundsMs: [1, 2], counts: [3, 0], sumMs: 10 },
      keyExchange: undefined,
    },
    '2 1': stats(4, 3),
  });
});
