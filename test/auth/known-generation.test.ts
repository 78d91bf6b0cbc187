import { describe, expect, it } from 'vitest';
import { KnownGeneration } from '../../src/auth/known-generation.ts';

/** A store whose reads the test answers, one by one. */
class SlowStore {
  readonly reads: { answer(value: string): void; fail(error: Error): void }[] = [];
  nowMs = 0;
  readonly known = new KnownGeneration(
    () => new Promise((answer, fail) => this.reads.push({ answer, fail })),
    () => this.nowMs,
  );

  /** Lets everything that waits for an answered promise go on. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  }
}

describe('the known generation', () => {
  it('is read once for all who ask at the start', async () => {
    const store = new SlowStore();
    const all = Promise.all([store.known.current(), store.known.current(), store.known.current()]);
    await store.settle();
    expect(store.reads).toHaveLength(1);
    store.reads[0]!.answer('a');
    expect(await all).toEqual(['a', 'a', 'a']);
  });

  it('is renewed in the background, and nobody waits meanwhile', async () => {
    const store = new SlowStore();
    const first = store.known.current();
    store.reads[0]!.answer('a');
    await first;

    store.nowMs = 1_501;
    expect(await store.known.current()).toBe('a');
    expect(await store.known.current()).toBe('a');
    expect(store.reads).toHaveLength(2);
    store.reads[1]!.answer('b');
    await store.settle();
    expect(await store.known.current()).toBe('b');
  });

  it('counts its age from when its read began: an answer that took too long is read again', async () => {
    const store = new SlowStore();
    const first = store.known.current();
    store.reads[0]!.answer('a');
    await first;

    store.nowMs = 2_000;
    await store.known.current();
    store.nowMs = 6_500;
    const late = store.known.current();
    await store.settle();
    expect(store.reads).toHaveLength(2);
    store.reads[1]!.answer('as of 2 s');
    await store.settle();
    expect(store.reads).toHaveLength(3);
    store.reads[2]!.answer('as of 6.5 s');
    expect(await late).toBe('as of 6.5 s');
  });

  it('survives a read that fails in the background, and fails once it is too old', async () => {
    const store = new SlowStore();
    const first = store.known.current();
    store.reads[0]!.answer('a');
    await first;

    store.nowMs = 2_000;
    expect(await store.known.current()).toBe('a');
    store.reads[1]!.fail(new Error('database gone'));
    await store.settle();
    expect(await store.known.current()).toBe('a');
    store.reads[2]!.fail(new Error('database gone'));
    await store.settle();

    store.nowMs = 4_001;
    const failing = store.known.current();
    store.reads[3]!.fail(new Error('still gone'));
    await expect(failing).rejects.toThrow('still gone');
  });
});
