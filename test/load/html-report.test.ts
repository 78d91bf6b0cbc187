import { describe, expect, test } from 'vitest';
import type { LoadRecord } from '../../src/tools/load/load-run.ts';
import type { MachineSample } from '../../src/tools/load/machine-watch.ts';
import { latencyScale, straightScale } from '../../src/tools/load/report/chart.ts';
import { htmlReport } from '../../src/tools/load/report/html-report.ts';
import { emptySlice, type Slice, Tally } from '../../src/tools/load/tally.ts';
import { resultWith } from './results.ts';

function second(responded: number, ms: number): Slice {
  const tally = new Tally();
  for (let at = 0; at < responded; at++) {
    tally.count('due');
    tally.countResponse('approve', { outcome: 'Approved', isExpected: true, isError: false }, ms);
  }
  return tally.take({ inFlight: 3, connections: 64 });
}

function recordOf(seconds: readonly Slice[]): LoadRecord {
  const tally = new Tally();
  for (const slice of seconds) tally.add(slice);
  return { startedAtMs: 0, seconds, total: tally.sum(), sendingSeconds: seconds.length };
}

const SAMPLES: MachineSample[] = [1, 2].map((at) => ({
  second: at,
  gateway: { inFlight: at, pending: 0, queued: undefined },
  processes: { '<b>gateway</b>': { cores: 0.5, memoryBytes: 2e8 } },
  machineCores: 0.75,
}));
const NOTHING_DEMANDED = { thresholds: [], failed: [] };
const RECORD = recordOf([second(10, 4), second(20, 90), emptySlice(), second(5, 4_000)]);

describe('the report', () => {
  const page = htmlReport(resultWith(), RECORD, SAMPLES, NOTHING_DEMANDED);

  test('is self-contained: no address, style sheet, script or picture from elsewhere', () => {
    expect(page).not.toMatch(/https?:|\/\/[a-z]|<link|<img|<iframe|@import|url\(|\bsrc=|\bhref=|\bfetch\(/i);
  });

  test('has a chart for each question, and a table with the same figures beside each', () => {
    const titles = [...page.matchAll(/<figcaption><h2>([^<]+)/g)].map((match) => match[1]);
    expect(titles).toEqual([
      'Throughput',
      'Latency',
      'Latency by scenario',
      'Outcomes',
      'In flight',
      'Switch connections and queues',
      'Processor',
      'Memory',
    ]);
    expect(page.match(/<svg /g)).toHaveLength(titles.length);
    expect(page.match(/<caption>/g)).toHaveLength(titles.length);
    expect(page).toContain('<tr><th scope="row">2 s</th><td>20/s</td><td>20/s</td></tr>');
  });

  test('leaves out charts without data', () => {
    const blind = htmlReport(resultWith(), RECORD, [], NOTHING_DEMANDED);
    expect(blind).not.toContain('Switch connections');
    expect(blind).not.toContain('Processor');
  });

  test('draws no line through a second without responses', () => {
    const paths = [...page.matchAll(/<path class="line"[^>]* d="([^"]+)"/g)].map((match) => match[1]!);
    expect(paths.some((path) => (path.match(/M/g)?.length ?? 0) === 2)).toBe(true);
    expect(page).not.toMatch(/NaN|Infinity|undefined/);
  });

  test('shows names as text, with any content', () => {
    expect(page).not.toContain('<b>gateway</b>');
    expect(page).toContain('&lt;b&gt;gateway&lt;/b&gt;');
  });

  test('states whether the conditions of the test held', () => {
    const thresholds = [{ text: 'p99>50ms' }, { text: 'lost>0' }];
    expect(htmlReport(resultWith(), RECORD, [], { thresholds, failed: [] })).toContain(
      'Passed: p99&gt;50ms, lost&gt;0 did not occur.',
    );
    const failed = htmlReport(resultWith(), RECORD, [], { thresholds, failed: ['p99>50ms: it is 91 ms'] });
    expect(failed).toContain('Failed: p99&gt;50ms: it is 91 ms.');
    expect(failed).not.toContain('Passed');
  });

  test('states what is wrong', () => {
    const ledger = { ok: false, description: '1 violation', violations: ['I1 7: is booked at the switch'], checks: [] };
    const generator = { isLimit: true, description: ['its workers were busy'], lagP99Ms: 50, busy: 0.99, workers: 1 };
    const bad = htmlReport(resultWith({ ledger, generator, endedBy: 'signal' }), RECORD, [], NOTHING_DEMANDED);
    expect(bad).toContain('I1 7: is booked at the switch');
    expect(bad).toContain('The generator may have been the limit: its workers were busy.');
    expect(bad).toContain('stopped by hand');
  });

  test('is also drawn for a test without data, and remains small for one of hours', () => {
    const nothing = resultWith({ scenarios: {}, p50Ms: null, p99Ms: null, sent: 0, responded: 0 });
    expect(htmlReport(nothing, recordOf([]), [], NOTHING_DEMANDED)).toContain('</html>');
    const hours = recordOf(Array.from({ length: 20_000 }, () => second(1, 5)));
    expect(htmlReport(resultWith(), hours, [], NOTHING_DEMANDED).length).toBeLessThan(400_000);
  });
});

describe('a scale', () => {
  test('ends at a round number, and has few grid lines', () => {
    expect(straightScale(87).ticks).toEqual([0, 50, 100]);
    expect(straightScale(0.32).positionOf(0.4)).toBeCloseTo(1);
  });

  test('is logarithmic if latencies are far apart', () => {
    expect(latencyScale([1.5, 3_000]).ticks).toEqual([1, 10, 100, 1_000, 10_000]);
    expect(latencyScale([10, 40]).ticks[0]).toBe(0);
    expect(latencyScale([]).positionOf(0)).toBe(0);
  });
});
