import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { TapLoad } from '../../src/basics/limits/concurrency-limit.ts';
import {
  registerBacklogMetrics,
  registerDatabaseMetrics,
  registerTapLoad,
} from '../../src/observe/metrics/gateway-metrics.ts';
import { Metrics } from '../../src/observe/metrics/metrics.ts';
import {
  registerCertificates,
  registerHsmMetrics,
  registerKeyMetrics,
  registerMessageMetrics,
  registerSwitchMetrics,
  registerUnusable,
} from '../../src/observe/metrics/switch-metrics.ts';

/** Every metric that a process exposes, without starting one. */
function knownMetrics(): Set<string> {
  const { registry } = new Metrics();
  registerSwitchMetrics(registry, []);
  registerKeyMetrics(registry, []);
  registerUnusable(registry, () => new Map());
  registerCertificates(registry, [], () => undefined);
  registerHsmMetrics(registry, { deviceStates: () => [] });
  registerMessageMetrics(registry, { counts: { kept: 0, dropped: 0, waitingBytes: 0 } });
  registerDatabaseMetrics(registry, {});
  registerTapLoad(registry, new TapLoad());
  registerBacklogMetrics(registry, () => Promise.reject(new Error('no database')));
  return new Set(registry.getMetricsAsArray().map(({ name }) => name));
}

const text = (path: string) => readFileSync(new URL(`../../src/observe/${path}`, import.meta.url), 'utf8');
/** Written by Prometheus itself. */
const PROMETHEUS_OWN = 'up';

function metricsIn(expressions: readonly string[]): Set<string> {
  const names = expressions.join('\n').matchAll(/\b((?:tapwire|http|db|process)_\w+|up)\b(?=[{[)\s]|$)/g);
  const isLabel = (name: string) =>
    /^(http_(route|response_status_code|request_method)|db_client_connection_(state|pool_name))$/.test(name);
  return new Set(
    [...names]
      .map(([, name]) =>
        name!.replace(/_(bucket|sum|count)$/, (part) => (name === 'db_client_connection_count' ? part : '')),
      )
      .filter((name) => !isLabel(name)),
  );
}

describe.each([
  [
    'the dashboard',
    () => JSON.stringify(JSON.parse(text('grafana/tapwire.json'))).match(/"expr":"(?:[^"\\]|\\.)*"/g) ?? [],
    20,
  ],
  [
    'the alert rules',
    () =>
      text('prometheus/alerts.yml')
        .split(/^ {6}- alert:/m)
        .slice(1)
        .map((rule) => /expr:([\s\S]*?)\n {8}(?:for|labels):/.exec(rule)![1]!),
    10,
  ],
] as const)('%s', (_, read, least) => {
  const used = metricsIn(read());

  test('uses many figures', () => {
    expect(used.size).toBeGreaterThanOrEqual(least);
  });

  test('uses only figures that a process exposes', () => {
    const known = knownMetrics();
    expect([...used].filter((name) => !known.has(name) && name !== PROMETHEUS_OWN)).toEqual([]);
  });
});

test('every alert states its meaning, the action and its urgency', () => {
  const rules = text('prometheus/alerts.yml')
    .split(/^ {6}- alert:/m)
    .slice(1);
  for (const rule of rules) {
    expect(rule).toMatch(/severity: (page|ticket)/);
    expect(rule).toMatch(/summary: '.+'/);
    expect(rule).toMatch(/action: '.+'/);
    expect(rule).toMatch(/runbook_url: deploy\/runbooks\.md#[a-z-]+$/m);
  }
});
