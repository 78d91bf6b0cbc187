import type { Registry } from 'prom-client';
import type { KeyExchangeStats } from '../../switches/key-exchange.ts';
import { registerSnapshot, type Sample } from './snapshot-metric.ts';
import { labelsOf, type WatchedSwitches } from './switch-metrics.ts';

const MS = 1_000;

/** What becomes of the working keys of switches that exchange them while traffic runs. */
export function registerKeyMetrics(registry: Registry, switches: WatchedSwitches): void {
  const each = (read: (keys: KeyExchangeStats, labels: Sample['labels']) => readonly Sample[]) => () =>
    [...switches].flatMap(([name, { stats }]) =>
      stats.keyExchange ? read(stats.keyExchange, labelsOf(name, stats.type)) : [],
    );

  registerSnapshot(registry, {
    name: 'tapwire_key_exchanges_total',
    help: 'Working keys that were exchanged, and tries that failed: the keys before go on then',
    type: 'counter',
    read: each(({ exchanged, failed }, labels) => [
      { labels: { ...labels, result: 'exchanged' }, value: exchanged },
      { labels: { ...labels, result: 'failed' }, value: failed },
    ]),
  });
  registerSnapshot(registry, {
    name: 'tapwire_working_key_age_seconds',
    help: 'How long the key in use has been in use; absent while it is still the one of the configuration',
    type: 'gauge',
    read: each(({ ages }, labels) =>
      ages.flatMap(({ use, ageMs }) =>
        ageMs === null ? [] : [{ labels: { ...labels, use }, value: Math.round(ageMs / MS) }],
      ),
    ),
  });
  registerSnapshot(registry, {
    name: 'tapwire_working_key_max_age_seconds',
    help: 'The age at which we ask the switch for another key; absent where the switch changes keys when it wants',
    type: 'gauge',
    read: each(({ ages, maxAgeMs }, labels) =>
      maxAgeMs === null ? [] : ages.map(({ use }) => ({ labels: { ...labels, use }, value: maxAgeMs / MS })),
    ),
  });
}
