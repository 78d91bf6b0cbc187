import { describe, expect, test } from 'vitest';
import { Overloaded } from '../../src/basics/errors.ts';
import { ConcurrencyLimit } from '../../src/basics/limits/concurrency-limit.ts';

describe('a queue with a limit', () => {
  test('runs its limit at once, in order, and refuses work when it is full', async () => {
    const line = new ConcurrencyLimit({ atOnce: 2, waitMost: 3 });
    let running = 0;
    let most = 0;
    const order: number[] = [];
    const work = (at: number) =>
      line.run(async () => {
        order.push(at);
        most = Math.max(most, ++running);
        await new Promise(setImmediate);
        running--;
        return at;
      });
    const outcomes = await Promise.allSettled(Array.from({ length: 7 }, (_, at) => work(at)));
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(5).fill('fulfilled'), 'rejected', 'rejected']);
    expect((outcomes[6] as PromiseRejectedResult).reason).toBeInstanceOf(Overloaded);
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
  });

  test('refuses work that has waited too long, which never runs, and keeps its slots', async () => {
    const line = new ConcurrencyLimit({ atOnce: 1, waitMost: 2, waitAtMostMs: 20 });
    let end = () => {};
    const slow = line.run(() => new Promise<void>((resolve) => (end = resolve)));
    const ran: string[] = [];
    const late = ['one', 'two'].map((name) => line.run(async () => ran.push(name)));
    for (const each of await Promise.allSettled(late))
      expect((each as PromiseRejectedResult).reason).toBeInstanceOf(Overloaded);
    end();
    await slow;
    await line.run(async () => ran.push('three'));
    expect(ran).toEqual(['three']);
  });

  test('continues after failed work', async () => {
    const line = new ConcurrencyLimit({ atOnce: 1, waitMost: 1 });
    const failing = line.run(() => Promise.reject(new Error('no')));
    const next = line.run(async () => 'yes');
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('yes');
    expect(await line.run(async () => 'again')).toBe('again');
  });

  test('gives the owners of waiting work turns, however much one of them has', async () => {
    const line = new ConcurrencyLimit({ atOnce: 1, waitMost: 100, waitMostOfOne: 5 });
    const order: string[] = [];
    const add = (owner: string) =>
      line.run(async () => {
        order.push(owner);
        await new Promise(setImmediate);
      }, owner);
    const flood = Array.from({ length: 10 }, () => add('flood'));
    const others = ['shop', 'bank', 'shop'].map(add);
    const outcomes = await Promise.allSettled(flood);
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(6).fill('fulfilled'), ...Array(4).fill('rejected')]);
    await Promise.all(others);
    expect(order.join(' ')).toBe('flood flood shop bank flood shop flood flood flood');
  });

  test('forgets an owner whose work has waited too long', async () => {
    const line = new ConcurrencyLimit({ atOnce: 1, waitMost: 3, waitAtMostMs: 20 });
    let end = () => {};
    const slow = line.run(() => new Promise<void>((resolve) => (end = resolve)), 'slow');
    await expect(line.run(async () => {}, 'late')).rejects.toBeInstanceOf(Overloaded);
    const next = line.run(async () => 'next', 'other');
    end();
    expect(await next).toBe('next');
    await slow;
    expect(await line.run(async () => 'free', 'late')).toBe('free');
  });
});
