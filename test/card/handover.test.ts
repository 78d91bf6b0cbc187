import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SealError } from '../../src/basics/errors.ts';
import { HandoverOpener, HandoverSealer, MAX_LONGEST_WAIT_MS } from '../../src/card/handover.ts';
import type { HandoverKeys, WorkerPublicKey } from '../../src/card/handover-envelope.ts';

const MINUTE_MS = 60_000;
const ATTEMPT = { id: '7d8f4d1e-3f53-4a0f-9a3e-3f8f5c9d2b10', attempt: 1 };
const BLOBS = {
  general: Buffer.from('9F0206000000001000', 'hex'),
  payment: Buffer.from('57084111111111111111', 'hex'),
};
const LONGEST_WAIT_MS = 40_000;

/** The store of all processes; the test controls its clock. */
class TestKeys implements HandoverKeys {
  readonly rows = new Map<string, WorkerPublicKey & { readonly liveUntilMs: number }>();
  readsOfLive = 0;
  failure: Error | undefined;

  async publish({ workerId, publicKey, liveForMs }: Parameters<HandoverKeys['publish']>[0]): Promise<void> {
    if (this.failure) throw this.failure;
    this.rows.delete(workerId);
    this.rows.set(workerId, { workerId, publicKey: Uint8Array.from(publicKey), liveUntilMs: Date.now() + liveForMs });
  }

  async live(): Promise<WorkerPublicKey[]> {
    this.readsOfLive++;
    if (this.failure) throw this.failure;
    return [...this.rows.values()].filter(({ liveUntilMs }) => Date.now() < liveUntilMs).reverse();
  }
}

let keys = new TestKeys();
let errors: unknown[] = [];
const opened: HandoverOpener[] = [];

async function startWorker(workerId: string): Promise<HandoverOpener> {
  const onError = (error: unknown) => errors.push(error);
  const worker = new HandoverOpener({ keys, workerId, longestWaitMs: LONGEST_WAIT_MS, onError, monotonicMs: Date.now });
  opened.push(worker);
  await worker.start();
  return worker;
}

function startApi(): HandoverSealer {
  return new HandoverSealer(keys, Date.now);
}

beforeEach(() => {
  vi.useFakeTimers();
  keys = new TestKeys();
  errors = [];
});

afterEach(() => {
  for (const worker of opened.splice(0)) worker.stop();
  vi.useRealTimers();
});

describe('a handover', () => {
  test('opens at any worker that was live when it was sealed', async () => {
    const workers = [await startWorker('w1'), await startWorker('w2'), await startWorker('w3')];
    const sealed = await startApi().seal(ATTEMPT, BLOBS);
    for (const worker of workers) expect(worker.open(ATTEMPT, sealed)).toEqual(BLOBS);
  });

  test('a handover from several api processes opens at one worker', async () => {
    const worker = await startWorker('w1');
    for (const api of [startApi(), startApi()]) {
      for (let tap = 0; tap < 3; tap++) expect(worker.open(ATTEMPT, await api.seal(ATTEMPT, BLOBS))).toEqual(BLOBS);
    }
  });

  test('contains no card data in clear and looks different each time', async () => {
    await startWorker('w1');
    const api = startApi();
    const [first, second] = [await api.seal(ATTEMPT, BLOBS), await api.seal(ATTEMPT, BLOBS)];
    expect(Buffer.from(first).includes(BLOBS.payment.subarray(2))).toBe(false);
    expect(Buffer.compare(first, second)).not.toBe(0);
  });

  test('does not open for another transaction or another attempt', async () => {
    const worker = await startWorker('w1');
    const sealed = await startApi().seal(ATTEMPT, BLOBS);
    expect(() => worker.open({ ...ATTEMPT, attempt: 2 }, sealed)).toThrow(new SealError('SEAL_BROKEN'));
    expect(() => worker.open({ ...ATTEMPT, id: ATTEMPT.id.replace('7', '8') }, sealed)).toThrow(
      new SealError('SEAL_BROKEN'),
    );
  });

  test('does not open at a worker that started later or restarted', async () => {
    const first = await startWorker('w1');
    const sealed = await startApi().seal(ATTEMPT, BLOBS);
    const later = await startWorker('w2');
    first.stop();
    const restarted = await startWorker('w1');
    for (const worker of [first, later, restarted]) {
      expect(() => worker.open(ATTEMPT, sealed)).toThrow(new SealError('KEY_GONE'));
    }
  });

  test('does not open if any one bit is inverted, or if it is truncated', async () => {
    const worker = await startWorker('w1');
    const sealed = await startApi().seal(ATTEMPT, BLOBS);
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const turned = Uint8Array.from(sealed);
      turned[bit >> 3]! ^= 1 << (bit & 7);
      // The highest bit of an X25519 public key is not part of it (RFC 7748 5), but it is part of the key derivation.
      expect(() => worker.open(ATTEMPT, turned)).toThrow(SealError);
    }
    for (let length = 0; length < sealed.length; length++) {
      expect(() => worker.open(ATTEMPT, sealed.subarray(0, length))).toThrow(SealError);
    }
  });

  test('a handover from any bytes opens only to a SealError', async () => {
    const worker = await startWorker('w1');
    const sealed = await startApi().seal(ATTEMPT, BLOBS);
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.uint8Array({ maxLength: 300 }).map((tail) => Buffer.concat([sealed.subarray(0, 50), tail])),
    );
    fc.assert(
      fc.property(bytes, (any) => {
        expect(() => worker.open(ATTEMPT, any)).toThrow(SealError);
      }),
    );
  });

  test('carries blobs of up to 64 KB each, and no larger ones', async () => {
    const worker = await startWorker('w1');
    const api = startApi();
    for (const [general, payment] of [
      [0, 0],
      [0, 1],
      [1, 0],
      [65_536, 65_536],
    ] as const) {
      const blobs = { general: Buffer.alloc(general, 1), payment: Buffer.alloc(payment, 2) };
      expect(worker.open(ATTEMPT, await api.seal(ATTEMPT, blobs))).toEqual(blobs);
    }
    const tooLarge = { ...BLOBS, payment: Buffer.alloc(65_537) };
    await expect(api.seal(ATTEMPT, tooLarge)).rejects.toEqual(new SealError('TOO_LARGE'));
  });

  test('is sealed for at most 16 workers, the latest to report', async () => {
    const workers: HandoverOpener[] = [];
    for (let worker = 0; worker < 17; worker++) workers.push(await startWorker(`w${worker}`));
    const sealed = await startApi().seal(ATTEMPT, BLOBS);
    expect(() => workers[0]!.open(ATTEMPT, sealed)).toThrow(new SealError('KEY_GONE'));
    for (const worker of workers.slice(1)) expect(worker.open(ATTEMPT, sealed)).toEqual(BLOBS);
  });
});

describe('the workers for which an api process seals', () => {
  test('are empty until one is live: a refusal that may be retried', async () => {
    const api = startApi();
    await expect(api.seal(ATTEMPT, BLOBS)).rejects.toMatchObject({ code: 'NO_WORKER', retryable: true });
    const worker = await startWorker('w1');
    vi.advanceTimersByTime(2_000);
    expect(worker.open(ATTEMPT, await api.seal(ATTEMPT, BLOBS))).toEqual(BLOBS);
  });

  test('are read every 2 s, once for all taps in between', async () => {
    await startWorker('w1');
    const api = startApi();
    await Promise.all(Array.from({ length: 50 }, () => api.seal(ATTEMPT, BLOBS)));
    expect(keys.readsOfLive).toBe(1);
    vi.advanceTimersByTime(2_000);
    await api.seal(ATTEMPT, BLOBS);
    expect(keys.readsOfLive).toBe(2);
  });

  test('are read again immediately after a failed read', async () => {
    await startWorker('w1');
    const api = startApi();
    keys.failure = new Error('database unavailable');
    await expect(api.seal(ATTEMPT, BLOBS)).rejects.toThrow('database unavailable');
    keys.failure = undefined;
    expect(await api.seal(ATTEMPT, BLOBS)).toBeInstanceOf(Uint8Array);
  });

  test('are those that reported within a minute', async () => {
    const worker = await startWorker('w1');
    const api = startApi();
    await vi.advanceTimersByTimeAsync(10 * MINUTE_MS);
    expect(worker.open(ATTEMPT, await api.seal(ATTEMPT, BLOBS))).toEqual(BLOBS);
    worker.stop();
    await vi.advanceTimersByTimeAsync(MINUTE_MS);
    await expect(api.seal(ATTEMPT, BLOBS)).rejects.toMatchObject({ code: 'NO_WORKER' });
  });

  test('exclude one that withdrew, which still opens what it received', async () => {
    const worker = await startWorker('w1');
    const api = startApi();
    const sealed = await api.seal(ATTEMPT, BLOBS);
    await worker.withdraw();
    await vi.advanceTimersByTimeAsync(2_000);
    await expect(api.seal(ATTEMPT, BLOBS)).rejects.toMatchObject({ code: 'NO_WORKER' });
    expect(worker.open(ATTEMPT, sealed)).toEqual(BLOBS);
  });
});

describe('the keys of the handover', () => {
  test('are replaced every 50 minutes, and every tap in between opens', async () => {
    const worker = await startWorker('w1');
    const api = startApi();
    const published = new Set<string>();
    for (let second = 0; second < 3 * 60 * 60; second += 10) {
      const sealed = await api.seal(ATTEMPT, BLOBS);
      published.add(Buffer.from(keys.rows.get('w1')!.publicKey).toString('hex'));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(worker.open(ATTEMPT, sealed)).toEqual(BLOBS);
    }
    expect(published.size).toBe(4);
  });

  test('open a tap sealed at the last moment for as long as it may wait', async () => {
    const worker = await startWorker('w1');
    const api = startApi();
    await vi.advanceTimersByTimeAsync(50 * MINUTE_MS - 1);
    await api.seal(ATTEMPT, BLOBS);
    await vi.advanceTimersByTimeAsync(1_999);
    const sealed = await api.seal(ATTEMPT, BLOBS);
    await vi.advanceTimersByTimeAsync(LONGEST_WAIT_MS);
    expect(worker.open(ATTEMPT, sealed)).toEqual(BLOBS);
  });

  test('are deleted when no tap can need them, and always after an hour', async () => {
    const worker = await startWorker('w1');
    const sealed = await startApi().seal(ATTEMPT, BLOBS);
    await vi.advanceTimersByTimeAsync(50 * MINUTE_MS);
    expect(worker.open(ATTEMPT, sealed)).toEqual(BLOBS);
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect(() => worker.open(ATTEMPT, sealed)).toThrow(new SealError('KEY_GONE'));
  });

  test('are deleted after an hour even if publishing a new one never succeeds', async () => {
    const worker = await startWorker('w1');
    const sealed = await startApi().seal(ATTEMPT, BLOBS);
    keys.failure = new Error('database unavailable');
    await vi.advanceTimersByTimeAsync(60 * MINUTE_MS);
    expect(() => worker.open(ATTEMPT, sealed)).toThrow(new SealError('KEY_GONE'));
    expect(errors.length).toBeGreaterThan(200);
    expect(new Set(errors)).toEqual(new Set([keys.failure]));
  });

  test('the handover keys of an api process are replaced every hour', async () => {
    await startWorker('w1');
    const api = startApi();
    const senderOf = (sealed: Uint8Array) => Buffer.from(sealed.subarray(1, 33)).toString('hex');
    const first = senderOf(await api.seal(ATTEMPT, BLOBS));
    await vi.advanceTimersByTimeAsync(60 * MINUTE_MS - 1);
    expect(senderOf(await api.seal(ATTEMPT, BLOBS))).toBe(first);
    await vi.advanceTimersByTimeAsync(1);
    expect(senderOf(await api.seal(ATTEMPT, BLOBS))).not.toBe(first);
  });

  test('do not allow a longer wait than their hour permits', () => {
    const longestWaitMs = MAX_LONGEST_WAIT_MS + 1;
    expect(() => new HandoverOpener({ keys, workerId: 'w', longestWaitMs, onError: () => {} })).toThrow(RangeError);
  });
});
