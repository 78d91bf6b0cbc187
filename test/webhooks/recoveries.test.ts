import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Lanes } from '../../src/webhooks/lanes.ts';
import type { Forwarded, ForwardRequest } from '../../src/webhooks/ports.ts';
import { Recoveries } from '../../src/webhooks/recoveries.ts';

const ENDPOINT = { acquirerId: 1, id: 'endpoint' };
const PENDING = 5_000;

/** A receiver in virtual time, and the deliveries that wait to be brought forward. */
class Scene {
  waiting = PENDING;
  delivered = 0;
  isUp = true;
  respondAfterMs = 20;
  /** When each check ran, and how many deliveries it moved. */
  readonly looks: { readonly atMs: number; readonly moved: number }[] = [];
  laterSeconds: number | null = null;
  mostAtOnce = 0;
  #atOnce = 0;
  readonly lanes = new Lanes(() => performance.now());
  readonly errors: unknown[] = [];
  readonly recoveries = new Recoveries({
    waiting: { bringForward: async (wanted) => this.bringForward(wanted) },
    lanes: this.lanes,
    nowMs: () => performance.now(),
    random: () => 0.5,
    onError: (error) => void this.errors.push(error),
  });

  async bringForward(wanted: readonly ForwardRequest[]): Promise<ReadonlyMap<string, Forwarded> | undefined> {
    const { endpointId, most } = wanted[0]!;
    const moved = Math.min(most, this.waiting);
    this.waiting -= moved;
    this.looks.push({ atMs: performance.now(), moved });
    for (let n = 0; n < moved; n++) setTimeout(() => void this.deliver(), (n / moved) * 1_000);
    return new Map([[endpointId, { moved, laterSeconds: this.laterSeconds }]]);
  }

  /** One delivery, as the deliverer makes it. A postponed one waits again. */
  async deliver(): Promise<void> {
    const turn = await this.lanes.enter(ENDPOINT.id);
    if (turn.kind === 'putOff') {
      this.waiting++;
      return;
    }
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce);
    const { isUp } = this;
    await new Promise((resolve) => setTimeout(resolve, isUp ? this.respondAfterMs : 1));
    this.#atOnce--;
    if (isUp) this.delivered++;
    else this.waiting++;
    turn.leave(isUp ? 'taken' : 'failed');
    this.recoveries.after(ENDPOINT, isUp ? 'taken' : 'failed');
  }
}

let scene: Scene;
beforeEach(() => {
  vi.useFakeTimers();
  scene = new Scene();
});
afterEach(async () => {
  await scene.recoveries.stop();
  vi.useRealTimers();
});

async function failFor(times: number): Promise<void> {
  scene.isUp = false;
  for (let n = 0; n < times; n++) {
    void scene.deliver();
    scene.waiting--;
    await vi.advanceTimersByTimeAsync(10);
  }
  scene.isUp = true;
}

async function succeed(): Promise<void> {
  void scene.deliver();
  await vi.advanceTimersByTimeAsync(scene.respondAfterMs);
}

describe('an endpoint that accepts deliveries again', () => {
  test('gets five thousand that waited within a minute of the first success', async () => {
    await failFor(10);
    expect(scene.looks).toEqual([]);
    await succeed();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([scene.waiting, scene.delivered]).toEqual([0, PENDING + 1]);
  });

  test('gets them at a pace that doubles, within the room of its lane', async () => {
    await failFor(10);
    await succeed();
    await vi.advanceTimersByTimeAsync(10_500);
    const moved = scene.looks.map((look) => look.moved);
    expect(moved.slice(0, 6)).toEqual([8, 16, 32, 64, 128, 256]);
    expect(Math.max(...moved)).toBeLessThanOrEqual(400); // eight at once, each within 20 ms
    expect(scene.mostAtOnce).toBe(8);
  });

  test('is left to the schedule if it fails again, and starts over with the next success', async () => {
    await failFor(10);
    await succeed();
    await vi.advanceTimersByTimeAsync(4_500);
    scene.isUp = false;
    await vi.advanceTimersByTimeAsync(5_000);
    const looks = scene.looks.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(scene.looks).toHaveLength(looks);
    expect(scene.waiting).toBeGreaterThan(PENDING / 2);
    scene.isUp = true;
    await succeed();
    await vi.advanceTimersByTimeAsync(1_500);
    expect(scene.looks[looks]).toMatchObject({ moved: 8 });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(scene.waiting).toBe(0);
  });

  test('an endpoint that accepts deliveries again that is slow gets no more than it can process', async () => {
    scene.respondAfterMs = 2_000;
    await failFor(10);
    await succeed();
    await vi.advanceTimersByTimeAsync(60_000);
    // Eight at once, each within 2 s, and a lane without room to spare.
    expect(scene.looks.reduce((sum, { moved }) => sum + moved, 0)).toBeLessThanOrEqual(4 * 60);
    expect(scene.errors).toEqual([]);
  });
});

describe('a check', () => {
  test('runs once for a healthy endpoint', async () => {
    scene.waiting = 0;
    for (let n = 0; n < 100; n++) {
      await succeed();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(scene.looks).toHaveLength(1);
  });

  test('runs again when the next delivery may be brought forward', async () => {
    scene.waiting = 0;
    scene.laterSeconds = 240;
    await succeed();
    await vi.advanceTimersByTimeAsync(200_000);
    expect(scene.looks).toHaveLength(1);
    scene.laterSeconds = null;
    scene.waiting = 1;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(scene.looks.map(({ moved }) => moved)).toEqual([0, 1]);
    expect(scene.waiting).toBe(0);
  });

  test('a check that fails is reported and runs again', async () => {
    const { bringForward } = scene;
    scene.bringForward = () => Promise.reject(new Error('no database'));
    await succeed();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(scene.errors.length).toBeGreaterThan(0);
    scene.bringForward = bringForward;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(scene.waiting).toBe(0);
  });

  test('leaves the database alone nine times as long as it took', async () => {
    const { bringForward } = scene;
    scene.bringForward = async (wanted) => {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return bringForward.call(scene, wanted);
    };
    await succeed();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(scene.looks.length).toBeLessThanOrEqual(10);
  });
});
