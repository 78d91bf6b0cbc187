import type { Registry } from 'prom-client';
import type { TapLoad } from '../../basics/limits/tap-load.ts';
import { registerSnapshot } from './snapshot-metric.ts';

/** How near a process is to refusing taps. */
export function registerTapLoad(registry: Registry, load: TapLoad): void {
  registerSnapshot(registry, {
    name: 'tapwire_taps_in_work',
    help: 'Taps that need this process or its database now, without those that wait for a switch',
    type: 'gauge',
    read: () => [{ labels: {}, value: load.count }],
  });
  registerSnapshot(registry, {
    name: 'tapwire_taps_in_work_limit',
    help: 'Number of taps in work at which new ones are refused',
    type: 'gauge',
    read: () => [{ labels: {}, value: load.most }],
  });
}
