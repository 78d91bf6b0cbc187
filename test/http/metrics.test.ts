import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';

const TOKEN = 'a token of a scraper';

let installation: Installation;
let text: string;
beforeAll(async () => {
  installation = await startInstallation({ settings: { METRICS_TOKEN: TOKEN } });
  for (const amount of ['10.00', '10.51', '10.97']) await installation.phone().tap({ amount, currency: 'ZAR' });
  await eventually(async () => {
    text = await (await scrape()).text();
    expect(seriesOf(text, 'tapwire_outcomes_total')).toHaveLength(4);
  });
});
afterAll(() => installation.stop());

const scrape = (token = TOKEN) =>
  fetch(new URL('/metrics', installation.url), { headers: { authorization: `Bearer ${token}` } });

/** Lines of one metric, as `labels value`. */
function seriesOf(metrics: string, name: string): string[] {
  return metrics.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

describe('/metrics', () => {
  test('counts each outcome once, with its disposition, scheme and processor', () => {
    const reported = seriesOf(text, 'tapwire_outcomes_total').map((line) =>
      /disposition="(\w+)",scheme="(\w+)",acquirer="(\d+)",processor="(\d+)"} (\d+)/.exec(line)?.slice(1).join(' '),
    );
    // The reversal of the garbled one is acknowledged: it is Voided after it was Indeterminate.
    expect(reported.sort()).toEqual([
      'Approved Visa 1 1 1',
      'Declined Visa 1 1 1',
      'Indeterminate Visa 1 1 1',
      'Voided Visa 1 1 1',
    ]);
  });

  test('has the duration of each request with its route, never with its address', () => {
    const [taps] = seriesOf(text, 'http_server_request_duration_seconds_count').filter((line) =>
      line.includes('"/transactions/mobile"'),
    );
    expect(taps).toMatch(
      /http_request_method="POST",http_route="\/transactions\/mobile",http_response_status_code="200"} 3$/,
    );
  });

  test('has the figures of the connections to the switch', () => {
    expect(seriesOf(text, 'tapwire_switch_connections')).toContain(
      'tapwire_switch_connections{acquirer="1",processor="1",type="type-1",state="ready"} 1',
    );
    const ofFirst = (suffix: string) =>
      seriesOf(text, `tapwire_switch_round_trip_seconds${suffix}`).filter((line) => line.includes('acquirer="1"'));
    const numberOf = (line?: string) => Number(line?.split(' ').at(-1));
    const last = ofFirst('_bucket').at(-1);
    expect(last).toContain('le="+Inf"');
    expect(numberOf(last)).toBe(numberOf(ofFirst('_count')[0]));
    expect(numberOf(last)).toBeGreaterThan(2);
  });

  test('has how long commits take and how many writes share one', () => {
    const [commits] = seriesOf(text, 'tapwire_commit_duration_seconds_count');
    expect(Number(commits?.split(' ').at(-1))).toBeGreaterThan(3);
    const pools = seriesOf(text, 'db_client_connection_count').map((line) => line.match(/pool_name="([^"]+)"/)?.[1]);
    expect(pools.length).toBe(new Set(pools).size * 2); // idle and used
    expect([...new Set(pools)].sort()).toEqual(['commits', 'directory', 'jobs', 'messages', 'reports', 'taps']);
  });

  test('has pending work: jobs by queue and state, reversals, transactions for review, the size of the database', () => {
    expect(seriesOf(text, 'tapwire_jobs')).toContainEqual(expect.stringMatching(/queue="webhook",state="dead"} 0$/));
    expect(seriesOf(text, 'tapwire_job_oldest_ready_seconds')).toContainEqual(
      expect.stringContaining('queue="reverse"'),
    );
    expect(seriesOf(text, 'tapwire_needs_review')).toEqual(['tapwire_needs_review 0']);
    expect(seriesOf(text, 'tapwire_database_bytes')).toHaveLength(1);
  });

  test('has the taps in work, their limit, and a counter of refused taps for each reason', () => {
    expect(seriesOf(text, 'tapwire_taps_in_work')).toHaveLength(1);
    expect(seriesOf(text, 'tapwire_taps_in_work_limit')).toEqual([expect.stringMatching(/ [1-9]\d*$/)]);
    expect(seriesOf(text, 'tapwire_taps_refused_total').sort()).toEqual(
      ['gateway', 'store', 'switch'].map((reason) => `tapwire_taps_refused_total{reason="${reason}"} 0`),
    );
  });

  test('has the figures of stored messages', async () => {
    await eventually(async () => {
      const [kept] = seriesOf(await (await scrape()).text(), 'tapwire_exchanges_total');
      expect(kept).toMatch(/result="kept"} [4-9]$/);
    });
  });

  test('is well-formed: every line is a comment or a series with a number, every series has its type', () => {
    for (const line of text.split('\n').filter(Boolean))
      expect(line).toMatch(
        /^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"\n]*"(,\w+="[^"\n]*")*\})? (NaN|[+-]?(Inf|[\d.e+-]+)))$/,
      );
    const names = new Set(text.match(/^# TYPE (\w+)/gm));
    expect(names.size).toBeGreaterThan(30);
  });

  test('is only for callers with its token', async () => {
    expect((await scrape('another')).status).toBe(401);
    expect((await fetch(new URL('/metrics', installation.url))).status).toBe(401);
  });
});
