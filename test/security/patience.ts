import { vi } from 'vitest';

/** Thousands of requests each take time on a busy machine, and nothing here waits for it. */
export function bePatient(): void {
  vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });
}
