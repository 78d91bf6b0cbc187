import type { Registry } from 'prom-client';
import type { HsmDeviceState, HsmDevices } from '../../switching/hsm/device-state.ts';
import { histogramSamples, registerSnapshot, type Sample } from './snapshot-metric.ts';

/** The devices of an HSM as this process sees them; each process has its own connections. */
export function registerHsmMetrics(registry: Registry, hsm: HsmDevices): void {
  const each = (read: (state: HsmDeviceState) => readonly Sample[]) => () => hsm.deviceStates().flatMap(read);
  registerSnapshot(registry, {
    name: 'tapwire_hsm_devices',
    help: 'Processes by the status that an HSM device, service or token has for them',
    type: 'gauge',
    read: each(({ name: device, kind, status }) => [{ labels: { device, kind, status }, value: 1 }]),
  });
  registerSnapshot(registry, {
    name: 'tapwire_hsm_outstanding_commands',
    help: 'Commands that wait for a response of an HSM device',
    type: 'gauge',
    read: each(({ name: device, outstanding }) => [{ labels: { device }, value: outstanding }]),
  });
  registerSnapshot(registry, {
    name: 'tapwire_hsm_commands_total',
    help: 'Commands to HSM devices: succeeded, or the reason of the failure or refusal',
    type: 'counter',
    read: each(({ name: device, succeeded, failures, refusals }) => [
      { labels: { device, result: 'succeeded' }, value: succeeded },
      ...Object.entries(failures).map(([code, value]) => ({ labels: { device, result: code.toLowerCase() }, value })),
      ...Object.entries(refusals).map(([code, value]) => ({ labels: { device, result: `refused_${code}` }, value })),
    ]),
  });
  registerSnapshot(registry, {
    name: 'tapwire_hsm_round_trip_seconds',
    help: 'Time from the write of a command to the read of its response',
    type: 'histogram',
    read: each(({ name: device, roundTrips }) => histogramSamples(roundTrips, { device })),
  });
}
