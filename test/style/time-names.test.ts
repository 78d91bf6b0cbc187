import { describe, expect, test } from 'vitest';
import { browserFiles, sourceFiles } from './source-files.ts';
import { timeNameFaults } from './time-names.ts';

describe('names of times have a unit', () => {
  test('each instant ends in AtMs, each duration in Ms or Seconds', () => {
    const files = [...sourceFiles('src', 'schemas', 'processors'), ...browserFiles('src')];
    expect(files.flatMap(({ path, text }) => timeNameFaults(text).map((fault) => `${path}: ${fault}`))).toEqual([]);
  });

  test.each([
    'readonly expiresAt: number;',
    'const startedMs = this.#clock.monotonicMs();',
    'this.#lastMs ??= performance.now();',
    'return { sentMs: Date.now() };',
    'if (nowMs >= this.#deadlineMs) return;',
    'if (clock.nowMs() > transaction.dueMs) return;',
    'readonly timeout: number;',
    'const RETRY_DELAY = 5_000;',
    'wait({ pollInterval: 20 })',
  ])('a name that breaks the rule is found in "%s"', (code) => {
    expect(timeNameFaults(code)).toHaveLength(1);
  });

  test.each([
    'readonly expiresAtMs: number | null;',
    'const nowMs = clock.nowMs();',
    'const tookMs = clock.nowMs() - startedAtMs;',
    'if (nowMs - startedAtMs >= timeoutMs) return;',
    'if (monotonicMs >= times.deadlineAtMs) return;',
    'readonly timeoutMs: number; readonly graceSeconds: number;',
  ])('a correct name is accepted in "%s"', (code) => {
    expect(timeNameFaults(code)).toEqual([]);
  });
});
