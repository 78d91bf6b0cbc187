import type { Registry } from 'prom-client';
import { registerSnapshot } from './snapshot-metric.ts';

/** Counters of stored and dropped messages of a process. */
export interface WatchedMessages {
  readonly counts: { readonly kept: number; readonly dropped: number; readonly waitingBytes: number };
}

/** Metrics of the masked messages that are kept for people. */
export function registerMessageMetrics(registry: Registry, messages: WatchedMessages): void {
  registerSnapshot(registry, {
    name: 'tapwire_exchanges_total',
    help: 'Exchanges with switches whose messages were stored, and those dropped because the database was too slow',
    type: 'counter',
    read: () => {
      const { kept, dropped } = messages.counts;
      return [
        { labels: { result: 'kept' }, value: kept },
        { labels: { result: 'dropped' }, value: dropped },
      ];
    },
  });
  registerSnapshot(registry, {
    name: 'tapwire_exchanges_waiting_bytes',
    help: 'Masked messages that wait to be written',
    type: 'gauge',
    read: () => [{ labels: {}, value: messages.counts.waitingBytes }],
  });
}
