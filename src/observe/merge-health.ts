import type { HsmDeviceStatus } from '../switching/hsm/device-state.ts';
import type { Readiness } from './health.ts';

/** From the best to the worst: what a caller can expect of the best process. */
const AVAILABILITIES = ['ready', 'full', 'keyless', 'connecting', 'down', 'closed', 'unusable'];
/** Times of which the latest or longest counts. Other numbers are added. */
const GREATEST = new Set(['lastEchoAtMs', 'maxAgeMs']);
/** Bounds of buckets are the same in every process. */
const SAME = new Set(['boundsMs', 'type', 'ages']);

/**
 * The readiness of several processes behind one port: the port serves while one of them does.
 *
 * @param reports at least one
 */
export function mergeReadiness(reports: readonly Readiness[]): Readiness {
  const switches: Record<string, string> = {};
  for (const { switches: each } of reports) {
    for (const [name, availability] of Object.entries(each)) {
      switches[name] = better(switches[name], availability);
    }
  }
  let hsm: Readiness['hsm'];
  for (const { hsm: each = {} } of reports)
    for (const [name, status] of Object.entries(each)) hsm = { ...hsm, [name]: worse(hsm?.[name], status) };
  return {
    isReady: reports.some(({ isReady }) => isReady),
    database: reports.some(({ database }) => database === 'up') ? 'up' : 'down',
    isDraining: reports.every(({ isDraining }) => isDraining),
    switches,
    hsm,
  };
}

/** The statistics of each switch, added over the processes. */
export function mergeSwitches(reports: readonly Readonly<Record<string, unknown>>[]): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const report of reports) {
    for (const [name, stats] of Object.entries(report)) merged[name] = merge(name, merged[name], stats);
  }
  return merged;
}

function merge(name: string, one: unknown, other: unknown): unknown {
  if (one === undefined || one === null || SAME.has(name)) return one ?? other;
  if (other === undefined || other === null) return one;
  if (name === 'availability') return better(String(one), String(other));
  if (typeof one === 'number' && typeof other === 'number') {
    return GREATEST.has(name) ? Math.max(one, other) : one + other;
  }
  if (Array.isArray(one) && Array.isArray(other)) return one.map((each, at) => merge('', each, other[at]));
  if (typeof one !== 'object' || typeof other !== 'object') return one;
  const result: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) result[key] = merge(key, result[key], value);
  return result;
}

/** From the best to the worst: a person must look if one process cannot use a device. */
const DEVICE_STATUSES: readonly HsmDeviceStatus[] = ['ready', 'unreachable', 'circuitOpen', 'wrongLmk'];

function worse(one: HsmDeviceStatus | undefined, other: HsmDeviceStatus): HsmDeviceStatus {
  if (one === undefined) return other;
  return DEVICE_STATUSES.indexOf(one) >= DEVICE_STATUSES.indexOf(other) ? one : other;
}

function better(one: string | undefined, other: string): string {
  if (one === undefined) return other;
  return AVAILABILITIES.indexOf(one) <= AVAILABILITIES.indexOf(other) ? one : other;
}
