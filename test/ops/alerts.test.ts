import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Installation } from './alert-series.ts';

const run = promisify(execFile);
const RULES = fileURLToPath(new URL('../../src/observe/prometheus/alerts.yml', import.meta.url));
const HAS_PROMTOOL = spawnSync('promtool', ['--version']).status === 0;

const QUIET_MINUTES = 15;
const TROUBLE_MINUTES = 45;

type Trouble = (installation: Installation, minute: number) => unknown;

/** What goes wrong, minute by minute, and the alerts that fire at the end: these, and no others. */
const TROUBLES: Readonly<Record<string, readonly [Trouble, ...alerts: string[]]>> = {
  'nothing is wrong': [() => {}],
  'a person must look': [({ backlog }) => Object.assign(backlog, { needsReview: 1 }), 'TransactionNeedsReview'],
  'reversals pile up': [
    ({ backlog }, minute) => Object.assign(backlog, { reversalsOwed: 10 * minute }),
    'ReversalsPileUp',
  ],
  'many reversals become fewer': [({ backlog }, minute) => Object.assign(backlog, { reversalsOwed: 1_000 - minute })],
  'jobs were given up': [(installation) => Object.assign(installation.queue('reverse'), { dead: 1 }), 'DeadLetters'],
  'no worker takes jobs': [
    (installation) => Object.assign(installation.queue('overdue'), { oldestReadySeconds: 90 }),
    'JobsWait',
  ],
  'webhooks wait': [({ backlog }) => Object.assign(backlog.webhooks[0]!, { pending: 20_000 }), 'WebhooksPileUp'],
  'STANs run out': [
    ({ backlog }) => Object.assign(backlog, { fewStans: [{ scope: '1 00000001', left: 500 }] }),
    'StansRunOut',
  ],
  'taps fail': [(installation) => installation.respond(503, 0.01, 5), 'TapsFail'],
  'taps are refused': [(installation) => installation.refuse('store', 120), 'TapsAreRefused', 'TapsFail'],
  'taps are slow': [(installation) => installation.respond(200, 15, 5), 'TapsAreSlow'],
  'outcomes are uncertain': [(installation) => installation.decide('Indeterminate', 5), 'UncertainOutcomes'],
  'commits are slow': [(installation) => installation.commit(0.9, 5), 'CommitsAreSlow'],
  'a switch is down': [({ stats }) => Object.assign(stats, { ready: 0, down: 2 }), 'SwitchIsDown'],
  'all connections are full': [({ stats }) => Object.assign(stats, { ready: 0, full: 2 })],
  'a message has a bad MAC': [
    ({ stats }, minute) => Object.assign(stats, { badMacs: minute > TROUBLE_MINUTES - 5 ? 1 : 0 }),
    'BadMacs',
  ],
  'responses match nothing': [
    ({ stats }) => Object.assign(stats, { unmatched: stats.unmatched + 2 }),
    'UnmatchedResponses',
  ],
  'connections flap': [({ stats }) => stats.reconnects++, 'LinesFlap'],
  'keys are not exchanged': [({ keys }) => keys.failed++, 'KeysAreNotExchanged'],
  'a working key is missing': [({ keys }) => Object.assign(keys, { keyless: { mac: 1 } }), 'WorkingKeyIsMissing'],
  'keys change too often': [({ keys }) => keys.exchanged++, 'KeysChangeTooOften'],
  'a key is old': [
    ({ keys }) => Object.assign(keys, { ages: [{ use: 'mac', ageMs: 2 * keys.maxAgeMs! }] }),
    'WorkingKeyIsOld',
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
  'messages are dropped': [({ messages }) => messages.dropped++, 'MessagesAreDropped'],
  'a process does not respond': [(installation) => Object.assign(installation, { isUp: false }), 'ProcessIsGone'],
};

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
    await run('promtool', ['test', 'rules', file]);
  });

  test('each rule fires in one of them', () => {
    const rules = readFileSync(RULES, 'utf8').matchAll(/- alert: (\w+)/g);
    const fired = new Set(Object.values(TROUBLES).flatMap(([, ...alerts]) => alerts));
    expect([...rules].map(([, name]) => name).filter((name) => !fired.has(name!))).toEqual([]);
  });
});

/** JSON is YAML, too. */
function testOf(series: readonly object[], alerts: readonly string[]): object {
  return {
    rule_files: [RULES],
    tests: [
      {
        interval: '1m',
        input_series: series,
        promql_expr_test: [
          {
            expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
            eval_time: `${QUIET_MINUTES + TROUBLE_MINUTES - 1}m`,
            exp_samples: alerts.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
          },
        ],
      },
    ],
  };
}
