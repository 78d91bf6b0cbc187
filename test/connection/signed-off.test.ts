import { describe, expect, test } from 'vitest';
import { connect, echoes } from './toy-switch.ts';

const A_DAY_MS = 86_400_000;

describe('a connection that a person signs off', () => {
  test('stays down until it is signed on, and then connects immediately', async () => {
    const { watched } = await connect(echoes);
    const { pool, clock } = watched;
    const [line] = pool.lines;
    const down = watched.untilState('down');
    expect(pool.signOff(line!.id)).toBe(true);
    expect(await down).toMatchObject({ reason: { cause: 'drained' } });
    expect(pool.lines).toMatchObject([{ id: line!.id, state: 'down', isHeld: true }]);
    clock.advance(A_DAY_MS);
    expect(pool.stats).toMatchObject({ down: 1, reconnects: 0 });
    const ready = watched.untilState('ready');
    expect(pool.signOn(line!.id)).toBe(true);
    await ready;
    expect(pool.lines).toMatchObject([{ state: 'ready', isHeld: false }]);
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
  });

  test('first finishes the held slots, and gives out no new ones', async () => {
    const { watched } = await connect(echoes);
    const { pool } = watched;
    const slot = pool.takeSlot()!;
    pool.signOff(pool.lines[0]!.id);
    expect(pool.lines).toMatchObject([{ state: 'draining', load: 1 }]);
    expect(pool.takeSlot()).toBeUndefined();
    const down = watched.untilState('down');
    slot.release();
    await down;
  });

  test('must exist: any other name has no effect', async () => {
    const { watched } = await connect(echoes);
    expect(watched.pool.signOff('another')).toBe(false);
    expect(watched.pool.signOn('another')).toBe(false);
    expect(watched.pool.lines).toMatchObject([{ state: 'ready', isHeld: false }]);
  });

  test('does not keep a pool from closing', async () => {
    const { watched } = await connect(echoes);
    const { pool, clock } = watched;
    const down = watched.untilState('down');
    pool.signOff(pool.lines[0]!.id);
    await down;
    await pool.close({ deadlineAtMs: clock.monotonicMs() + 1_000 });
    expect(pool.availability).toBe('closed');
  });
});
