import { expect, test } from 'vitest';
import { rationByLoad } from '../../src/jobs/ration-by-load.ts';

test.each([
  [0, 200],
  [0.2, 153],
  [0.4, 105],
  [0.8, 10],
  [0.95, 10],
  [1, 10],
])('at a load of %f a look may take %i jobs', (load, most) => {
  expect(rationByLoad({ idle: 200, busy: 10 }, () => load)()).toBe(most);
});

test('the load is that of the time since the look before', async () => {
  const ration = rationByLoad({ idle: 200, busy: 10 });
  const untilMs = performance.now() + 60;
  while (performance.now() < untilMs);
  await new Promise((resolve) => setImmediate(resolve));
  const busy = ration();
  await new Promise((resolve) => setTimeout(resolve, 120));
  expect(ration()).toBeGreaterThan(busy);
});
