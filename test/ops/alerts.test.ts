import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alertRules } from '../../src/tools/docs/tables.ts';
import { Installation } from './alert-series.ts';

const run = promisify(execFile);
/** promtool lives for a moment: without garbage collection and threads it takes a third less processor time. */
const PROMTOOL = { env: { ...process.env, GOGC: 'off', GOMAXPROCS: '1' } };
const RULES = fileURLToPath(new URL('../../src/observe/prometheus/alerts.yml', import.meta.url));
const HAS_PROMTOOL = spawnSync('promtool', ['--version']).status === 0;

const QUIET_MINUTES = 15;
const TROUBLE_MINUTES = 45;

type Trouble = (installation: Installation, minute: number) => unknown;

/** What goes wrong, minute by minute, and the alerts that fire at the end: these, and no others. */
const TROUBLES: Readonly<Record<string, readonly [Trouble, ...alerts: string[]]>> = {
  'nothing is wrong': [() => {}],
  'a person must look at a new case': [
    ({ backlog }, minute) => Object.assign(backlog, { needsReview: minute > TROUBLE_MINUTES - 4 ? 1 : 0 }),
    'TransactionNeedsReview',
  ],
  'a case waits, and another one is added': [
    ({ backlog }, minute) => Object.assign(backlog, { needsReview: minute > TROUBLE_MINUTES - 4 ? 2 : 1 }),
    'TransactionNeedsReview',
  ],
  'a case waits for most of an hour': [({ backlog }) => Object.assign(backlog, { needsReview: 1 })],
  'reversals pile up': [
    ({ backlog }, minute) => Object.assign(backlog, { reversalsOwed: 10 * minute }),
    'ReversalsPileUp',
  ],
  'many reversals become fewer': [({ backlog }, minute) => Object.assign(backlog, { reversalsOwed: 1_000 - minute })],
  'one reversal is not acknowledged': [
    ({ backlog }, minute) =>
      Object.assign(backlog, { oldestReversals: [{ acquirerId: 1, processorId: 5, seconds: 60 * minute }] }),
    'ReversalsAreStuck',
  ],
  'the database was restored': [({ backlog }) => Object.assign(backlog, { held: 0 }), 'RestoreIsOpen'],
  'jobs were given up': [(installation) => Object.assign(installation.queue('reverse'), { dead: 1 }), 'DeadLetters'],
  'no worker takes jobs': [
    (installation) => Object.assign(installation.queue('overdue'), { oldestReadySeconds: 90 }),
    'JobsWait',
  ],
  'many webhooks wait': [({ backlog }) => Object.assign(backlog.webhooks[0]!, { pending: 20_000 }), 'WebhooksPileUp'],
  'one endpoint accepts nothing': [
    ({ backlog }) => Object.assign(backlog.webhooks[0]!, { oldestSeconds: 4_000 }),
    'WebhooksWait',
  ],
  'STANs run out': [
    ({ backlog }) => Object.assign(backlog, { fewStans: [{ scope: '1 00000001', left: 500 }] }),
    'StansRunOut',
  ],
  'taps fail': [(installation) => installation.respond(503, 0.01, 5), 'TapsFail'],
  'taps are refused': [(installation) => installation.refuse('store', 120), 'TapsAreRefused', 'TapsFail'],
  'taps are very slow': [
    (installation, minute) => isLast(minute, 21) && installation.respond(200, 15, 5),
    'TapsAreSlow',
    'TapsBecameSlow',
  ],
  'taps take longer than before': [
    (installation, minute) => isLast(minute, 21) && installation.respond(200, 0.8, 100),
    'TapsBecameSlow',
  ],
  'no tap arrives': [
    (installation, minute) => Object.assign(installation, { tapsAMinute: isLast(minute, 12) ? 0 : 100 }),
    'NoTaps',
  ],
  'all outcomes of one switch are uncertain': [
    (installation) => installation.decide('Indeterminate', 100),
    'SwitchIsSilent',
    'UncertainOutcomes',
  ],
  'a switch with little traffic is silent, another one has most': [
    (installation) => {
      installation.decide('Approved', 900, '6');
      Object.assign(installation, { approvedAMinute: 0 });
      installation.decide('UnableToGoOnline', 2);
    },
    'SwitchIsSilent',
  ],
  'some outcomes are uncertain': [(installation) => installation.decide('Indeterminate', 5), 'UncertainOutcomes'],
  'outcomes were uncertain for seven minutes, until six minutes ago': [
    (installation, minute) => {
      const isOutage = isLast(minute, 13) && !isLast(minute, 6);
      Object.assign(installation, { approvedAMinute: isOutage ? 0 : 100 });
      if (isOutage) installation.decide('Indeterminate', 5);
    },
  ],
  'the issuers behind a switch do not respond': [
    (installation, minute) => {
      Object.assign(installation, { approvedAMinute: isLast(minute, 11) ? 0 : 100 });
      if (isLast(minute, 11)) installation.decline('91', 100);
    },
    'SwitchDeclines',
    'SwitchReportsFaults',
  ],
  'a switch declines everything with a code of the card': [
    (installation, minute) => {
      Object.assign(installation, { approvedAMinute: isLast(minute, 13) ? 0 : 100 });
      if (isLast(minute, 13)) installation.decline('05', 100);
    },
    'SwitchDeclines',
  ],
  'one tap in fifteen is declined': [(installation) => installation.decline('51', 7)],
  'commits are very slow': [
    (installation, minute) => isLast(minute, 21) && installation.commit(0.9, 5),
    'CommitsAreSlow',
    'CommitsBecameSlow',
  ],
  'commits take twenty times as long': [
    (installation, minute) => isLast(minute, 21) && installation.commit(0.2, 100),
    'CommitsBecameSlow',
  ],
  'no process can read the database, without traffic': [
    (installation) => Object.assign(installation, { hasDatabase: false, tapsAMinute: 0 }),
    'DatabaseIsGone',
  ],
  'a switch is down': [
    (installation) => {
      Object.assign(installation.stats, { ready: 0, down: 2 });
      Object.assign(installation, { readyAtOther: 0 });
    },
    'SwitchIsDown',
  ],
  'one of two workers is not signed on': [
    ({ stats }) => Object.assign(stats, { ready: 0, down: 2 }),
    'WorkerIsNotSignedOn',
  ],
  'all connections are full': [({ stats }) => Object.assign(stats, { ready: 0, full: 2 })],
  'a processor cannot be opened': [({ faults }) => faults.set('1 6', 'a reason'), 'ProcessorIsUnusable'],
  'a message has a bad MAC': [
    ({ stats }, minute) => Object.assign(stats, { badMacs: isLast(minute, 5) ? 1 : 0 }),
    'BadMacs',
  ],
  'responses match nothing': [
    ({ stats }) => Object.assign(stats, { unmatched: stats.unmatched + 2 }),
    'UnmatchedResponses',
  ],
  'connections flap': [({ stats }) => stats.signOns++, 'LinesFlap'],
  'a switch was restarted, and its connections signed on again': [
    (installation, minute) => {
      Object.assign(installation.stats, { ready: 12 });
      if (isLast(minute, 5) && !isLast(minute, 4)) installation.stats.signOns += 12;
    },
  ],
  'keys are not exchanged': [({ keys }) => keys.failed++, 'KeysAreNotExchanged'],
  'a working key is missing': [({ keys }) => Object.assign(keys, { keyless: { mac: 1 } }), 'WorkingKeyIsMissing'],
  'keys change too often': [({ keys }) => keys.exchanged++, 'KeysChangeTooOften'],
  'a key is old': [
    ({ keys }) => Object.assign(keys, { ages: [{ use: 'mac', ageMs: 2 * keys.maxAgeMs! }] }),
    'WorkingKeyIsOld',
  ],
  'a key of a switch has vanished from the HSM': [
    ({ stats }) => Object.assign(stats, { hsmFailures: stats.hsmFailures + 2 }),
    'MessagesCannotBeSecured',
  ],
  // promtool begins at 1970.
  'a certificate expires in two weeks': [
    ({ stats }) => Object.assign(stats, { certificates: [{ use: 'own', expiresAtMs: 14 * 86_400_000 }] }),
    'CertificateExpires',
  ],
  'a certificate expires tomorrow': [
    ({ stats }) => Object.assign(stats, { certificates: [{ use: 'authority', expiresAtMs: 86_400_000 }] }),
    'CertificateExpires',
    'CertificateExpiresSoon',
  ],
  'one device is unreachable': [({ hsm }) => Object.assign(hsm[0]!, { status: 'unreachable' }), 'HsmDeviceIsDown'],
  'both devices are unreachable, the token is ready': [
    ({ hsm }) => hsm.slice(0, 2).map((device) => Object.assign(device, { status: 'unreachable' })),
    'HsmDeviceIsDown',
    'NoHsmDevice',
  ],
  'the token does not respond': [
    ({ hsm }) => Object.assign(hsm[2]!, { status: 'circuitOpen' }),
    'HsmDeviceIsDown',
    'NoHsmDevice',
  ],
  'a device is slow': [(installation) => installation.takeTime(0.9, 50), 'HsmIsSlow'],
  'messages are dropped': [({ messages }) => messages.dropped++, 'MessagesAreDropped'],
  'a process does not respond': [(installation) => Object.assign(installation, { isUp: false }), 'ProcessIsGone'],
  'Prometheus knows no process': [
    (installation) => Object.assign(installation, { isKnown: false }),
    'NoProcessIsKnown',
  ],
  'a disk fills': [
    ({ exporters }) => Object.assign(exporters, { 'node_filesystem_avail_bytes{fstype="ext4",mountpoint="/"}': 9e9 }),
    'DiskFills',
  ],
  'the log is not archived': [
    ({ exporters }) =>
      Object.assign(exporters, { pg_stat_archiver_failed_count: exporters.pg_stat_archiver_failed_count + 1 }),
    'ArchiveIsOld',
  ],
  'a standby lags': [({ exporters }) => Object.assign(exporters, { pg_replication_lag_seconds: 90 }), 'ReplicaLags'],
  'a clock is wrong': [({ exporters }) => Object.assign(exporters, { node_timex_sync_status: 0 }), 'ClockIsWrong'],
};

/** Alerts that need hours. Each is checked with series of its own. */
const SLOW: Readonly<Record<string, { readonly series: string; readonly values: string; readonly atMinute: number }>> =
  {
    ReviewWaits: { series: 'tapwire_needs_review{instance="gateway-1"}', values: '1x300', atMinute: 290 },
  };

/** Whether a minute is among the last `count`. */
const isLast = (minute: number, count: number) => minute > TROUBLE_MINUTES - count;

describe.skipIf(!HAS_PROMTOOL)('the alert rules, on what a process exposes', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tapwire-alerts-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(Object.entries(TROUBLES))('%s', async (name, [trouble, ...alerts]) => {
    const installation = new Installation();
    for (let minute = 0; minute < QUIET_MINUTES; minute++) await installation.scrape();
    for (let minute = 1; minute <= TROUBLE_MINUTES; minute++) {
      trouble(installation, minute);
      await installation.scrape();
    }
    const file = join(folder, `${name.replaceAll(/\W/g, '-')}.yml`);
    writeFileSync(file, JSON.stringify(testOf(installation.series(), alerts)));
    // promtool prints the alerts that it expected and those that it got.
    await run('promtool', ['test', 'rules', file], PROMTOOL);
  });

  test.each(Object.entries(SLOW))('%s fires after hours', async (name, { series, values, atMinute }) => {
    const file = join(folder, `${name}.yml`);
    const known = { series: 'up{job="tapwire"}', values: values };
    const all = [{ series, values }, known, { series: 'tapwire_database_bytes', values }];
    writeFileSync(file, JSON.stringify(testOf(all, [name], atMinute)));
    await run('promtool', ['test', 'rules', file], PROMTOOL);
  });

  test('each rule fires in one of them', () => {
    const fired = new Set([...Object.keys(SLOW), ...Object.values(TROUBLES).flatMap(([, ...alerts]) => alerts)]);
    expect(rules().filter(({ alert }) => !fired.has(alert))).toEqual([]);
  });
});

describe('each alert', () => {
  const runbooks = readFileSync(new URL('../../deploy/runbooks.md', import.meta.url), 'utf8');
  const anchors = new Set(
    [...runbooks.matchAll(/^## (.+)$/gm)].map(([, title]) => title!.toLowerCase().replaceAll(' ', '-')),
  );

  test('leads to a section of the runbooks', () => {
    const missing = rules().filter(({ runbook }) => !anchors.has(runbook.replace('deploy/runbooks.md#', '')));
    expect(missing).toEqual([]);
  });

  test('is named in its section', () => {
    const sections = new Map(
      runbooks.split(/^## /m).map((section) => [section.split('\n')[0]!.toLowerCase().replaceAll(' ', '-'), section]),
    );
    const unnamed = rules().filter(
      ({ alert, runbook }) => !sections.get(runbook.replace('deploy/runbooks.md#', ''))?.includes(`\`${alert}\``),
    );
    expect(unnamed).toEqual([]);
  });
});

const rules = () => alertRules(readFileSync(RULES, 'utf8'));

/** JSON is YAML, too. */
function testOf(
  series: readonly object[],
  alerts: readonly string[],
  atMinute = QUIET_MINUTES + TROUBLE_MINUTES - 1,
): object {
  return {
    rule_files: [RULES],
    tests: [
      {
        interval: '1m',
        input_series: series,
        promql_expr_test: [
          {
            expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
            eval_time: `${atMinute}m`,
            exp_samples: alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
          },
        ],
      },
    ],
  };
}
