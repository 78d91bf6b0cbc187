import { describe, expect, test } from 'vitest';
import { TapLoad } from '../../src/basics/limits/concurrency-limit.ts';

describe('the load of a process', () => {
  test('is full with the last tap that it allows, until one ends', () => {
    const load = new TapLoad(2);
    load.begin();
    expect(load.isFull).toBe(false);
    load.begin();
    expect(load).toMatchObject({ isFull: true, count: 2 });
    load.end();
    expect(load.isFull).toBe(false);
  });

  test('does not include a tap while it waits for a switch, and does afterwards', async () => {
    const load = new TapLoad(1);
    load.begin();
    const { promise, resolve } = Promise.withResolvers<string>();
    const paused = load.pause(() => promise);
    expect(load.isFull).toBe(false);
    resolve('response');
    expect(await paused).toBe('response');
    expect(load.isFull).toBe(true);
  });

  test('includes a tap again whose wait has failed, at once or later', async () => {
    const load = new TapLoad(1);
    load.begin();
    await expect(load.pause(() => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    const throwing = () => {
      throw new Error('closed');
    };
    await expect(load.pause(throwing)).rejects.toThrow('closed');
    expect(load.count).toBe(1);
  });
});
