import type { Registry } from 'prom-client';
import type { KeyExchangeStats } from '../../switching/switches/key-exchange.ts';
import { registerSnapshot, type Sample } from './snapshot-metric.ts';
import { labelsOf, type WatchedSwitches } from './switch-metrics.ts';

const MS = 1_000;

/** Working keys of switches that exchange them during operation. */
export function registerKeyMetrics(registry: Registry, switches: WatchedSwitches): void {
  const each = (read: (keys: KeyExchangeStats, labels: Sample['labels']) => readonly Sample[]) => () =>
    [...switches].flatMap(([name, { stats }]) =>
      stats.keyExchange ? read(stats.keyExchange, labelsOf(name, stats.type)) : [],
    );

  registerSnapshot(registry, {
    name: 'tapwire_key_exchanges_total',
    help: 'Working keys exchanged, and failed exchanges, after which the previous keys remain in use',
    type: 'counter',
    read: each(({ exchanged, failed }, labels) => [
      { labels: { ...labels, result: 'exchanged' }, value: exchanged },
      { labels: { ...labels, result: 'failed' }, value: failed },
    ]),
  });
  registerSnapshot(registry, {
    name: 'tapwire_working_key_missing',
    help: '1 while messages that need a key of this use are not sent, because the switch may have none of the keys',
    type: 'gauge',
    aggregator: 'max',
    read: each(({ keyless }, labels) =>
      Object.entries(keyless).map(([use, value]) => ({ labels: { ...labels, use }, value })),
    ),
  });
  registerSnapshot(registry, {
    name: 'tapwire_working_key_age_seconds',
    help: 'Age of the key in use; absent while the key of the configuration is in use',
    type: 'gauge',
    aggregator: 'max',
    read: each(({ ages }, labels) =>
      ages.flatMap(({ use, ageMs }) =>
        ageMs === null ? [] : [{ labels: { ...labels, use }, value: Math.round(ageMs / MS) }],
      ),
    ),
  });
  registerSnapshot(registry, {
    name: 'tapwire_working_key_max_age_seconds',
    help: 'Age at which the gateway requests a new key; absent if the switch decides when to change keys',
    type: 'gauge',
    aggregator: 'max',
    read: each(({ ages, maxAgeMs }, labels) =>
      maxAgeMs === null ? [] : ages.map(({ use }) => ({ labels: { ...labels, use }, value: maxAgeMs / MS })),
    ),
  });
}
