import { expect, test } from 'vitest';
import { Metrics } from '../../src/observe/metrics/metrics.ts';

test('two scrapes at once report figures of the event loop that are numbers', async () => {
  const metrics = new Metrics();
  for (let scrape = 0; scrape < 3; scrape += 1) {
    const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('nodejs_eventloop_lag_'));
    const values = lines.map((line) => Number(line.split(' ')[1]));
    expect(values).toHaveLength(5);
    // An empty histogram has the minimum 2^63 - 1 and the mean NaN.
    for (const value of values) expect(value).toBeLessThan(3_600);
  }
});
