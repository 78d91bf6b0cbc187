import { vi } from 'vitest';

/** Thousands of requests each: on a machine that does ten other things they take their time, and nothing here waits for it. */
export function bePatient(): void {
  vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });
}
