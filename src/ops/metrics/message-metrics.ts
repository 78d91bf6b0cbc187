import type { Registry } from 'prom-client';
import { registerSnapshot } from './snapshot-metric.ts';

/** What a process has done about keeping messages. */
export interface WatchedMessages {
  readonly counts: { readonly kept: number; readonly dropped: number; readonly waitingBytes: number };
}

/** The messages that are kept, masked, for people. */
export function registerMessageMetrics(registry: Registry, messages: WatchedMessages): void {
  registerSnapshot(registry, {
    name: 'tapwire_exchanges_total',
    help: 'Exchanges with switches whose messages were kept, and those that the database did not take in time',
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
