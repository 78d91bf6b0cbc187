import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { isStoreCondition } from '../../../src/basics/errors/system-error.ts';
import { KnownDatabase, NotAdmitted } from '../../../src/store/switches/known-database.ts';

const WINDOW = { fromMs: 1_000, untilMs: 2_000, holdsAllTaps: false, released: new Set<string>() };

/** A connection to a server that has this identity; null for a standby. */
function connectionTo(identity: string | null): pg.ClientBase {
  return { query: async () => ({ rows: [{ identity }] }) } as unknown as pg.ClientBase;
}

describe('a process whose connections lead to another database', () => {
  function process() {
    let nowMs = 0;
    const database = new KnownDatabase(() => nowMs);
    const admits = (identity: string | null) =>
      database.admit(connectionTo(identity)).then(
        () => true,
        (error: unknown) => {
          expect(error).toBeInstanceOf(NotAdmitted);
          expect(isStoreCondition(error)).toBe(true);
          return false;
        },
      );
    const pass = (ms: number) => {
      nowMs += ms;
    };
    return { database, admits, pass };
  }

  test('opens no connection to a standby', async () => {
    const { admits } = process();
    expect(await admits(null)).toBe(false);
    expect(await admits('one')).toBe(true);
  });

  test('learns it once before the first connection opens, and goes on if nothing is lost', async () => {
    const { database, admits } = process();
    let learned = 0;
    await admits('one');
    database.follow(undefined, async () => void learned++ as undefined);
    expect(await Promise.all([admits('two'), admits('two'), admits('two')])).toEqual([true, true, true]);
    expect(await admits('two')).toBe(true);
    expect(learned).toBe(1);
  });

  test('refuses connections for ten seconds if a lost window began, and then knows it', async () => {
    const { database, admits, pass } = process();
    await admits('one');
    database.follow(undefined, async () => WINDOW);
    expect(await Promise.all([admits('two'), admits('two')])).toEqual([false, false]);
    pass(9_999);
    expect(await admits('two')).toBe(false);
    pass(1);
    expect(await admits('two')).toBe(true);
  });

  test('does not refuse because of a window that was open before', async () => {
    const { database, admits } = process();
    await admits('one');
    database.follow(WINDOW, async () => ({ ...WINDOW }));
    expect(await admits('two')).toBe(true);
  });

  test('opens no connection while it cannot learn the database, and learns it with the next one', async () => {
    const { database, admits } = process();
    let isNoted = false;
    await admits('one');
    database.follow(undefined, async () => {
      if (!isNoted) throw new NotAdmitted('not yet');
      return undefined;
    });
    expect(await admits('two')).toBe(false);
    isNoted = true;
    expect(await admits('two')).toBe(true);
  });

  test('does not take a connection to a third one that was opened while the second was learned', async () => {
    const { database, admits } = process();
    await admits('one');
    const learning = Promise.withResolvers<undefined>();
    database.follow(undefined, () => learning.promise);
    const [second, third] = [admits('two'), admits('three')];
    learning.resolve(undefined);
    expect(await Promise.all([second, third])).toEqual([true, false]);
    expect(await admits('three')).toBe(true);
  });
});
