import { expect, test } from 'vitest';
import { rationByLoad, utilizationSinceAsked } from '../../src/jobs/paces.ts';

test.each([
  [0, 200],
  [0.2, 153],
  [0.4, 105],
  [0.8, 10],
  [0.95, 10],
  [1, 10],
])('at a load of %f a poll may fetch %i jobs', (load, most) => {
  expect(rationByLoad({ idle: 200, busy: 10 }, () => load)()).toBe(most);
});

test('the load is that of the time since the previous poll', () => {
  const readings = [
    { idle: 1_000, active: 500 },
    { idle: 1_000, active: 560 },
    { idle: 1_120, active: 560 },
    { idle: 1_150, active: 570 },
  ];
  const read = () => ({ utilization: 0, ...readings.shift()! });
  const ration = rationByLoad({ idle: 200, busy: 10 }, utilizationSinceAsked(read));
  expect([ration(), ration(), ration()]).toEqual([10, 200, 141]);
});

test('a load that was measured long ago is unknown, and counts as full', () => {
  const readings = [
    { idle: 1_000, active: 500 },
    { idle: 11_000, active: 500 },
    { idle: 11_100, active: 500 },
  ];
  const read = () => ({ utilization: 0, ...readings.shift()! });
  const ration = rationByLoad({ idle: 200, busy: 10 }, utilizationSinceAsked(read));
  expect([ration(), ration()]).toEqual([10, 200]);
});

test('the load is that of the event loop', () => {
  const utilization = utilizationSinceAsked()();
  expect(utilization).toBeGreaterThanOrEqual(0);
  expect(utilization).toBeLessThanOrEqual(1);
});
