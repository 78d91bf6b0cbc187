import { describe, expect, test } from 'vitest';
import {
  ask,
  connect,
  echoes,
  eventThat,
  isSilent,
  type Note,
  responseTo,
  ToySwitch,
  WatchedPool,
} from './toy-switch.ts';

describe('a slot', () => {
  test('is taken immediately on a signed-on connection, and names it', async () => {
    const { watched, pool } = await connect();
    const slot = pool.takeSlot()!;
    expect(pool.stats).toMatchObject({ held: 1, inFlight: 0 });
    expect(await slot.request(ask('1'), watched.in(1_000))).toMatchObject({
      kind: 'responded',
      connectionId: slot.connectionId,
    });
    expect(pool.stats).toMatchObject({ held: 0, inFlight: 0 });
  });

  test('is not available before a connection is ready', async () => {
    const watched = new WatchedPool({ addresses: [await new ToySwitch().listen()] });
    expect(watched.pool.takeSlot()).toBeUndefined();
    expect(watched.pool.availability).toBe('connecting');
  });

  test('is waited for while a connection is being opened', async () => {
    const watched = new WatchedPool({ addresses: [await new ToySwitch().listen()] });
    const slot = await watched.pool.waitForSlot({ giveUpAtMs: watched.clock.monotonicMs() + 1_000 });
    expect(await slot!.request(ask('1'), watched.in(1_000))).toMatchObject({ kind: 'responded' });
  });

  test('is not waited for if no connection can become ready', async () => {
    const watched = new WatchedPool({ addresses: [] });
    expect(await watched.pool.waitForSlot({ giveUpAtMs: watched.clock.monotonicMs() + 1_000 })).toBeUndefined();
  });

  test('is waited for no longer than requested', async () => {
    const { watched, pool } = await connect(isSilent, { limits: { inFlight: 1 } });
    pool.takeSlot();
    const waiting = pool.waitForSlot({ giveUpAtMs: watched.clock.monotonicMs() + 500 });
    expect(pool.availability).toBe('full');
    watched.clock.advance(510);
    expect(await waiting).toBeUndefined();
    expect(pool.stats.pending).toBe(0);
  });

  test('a slot that is released goes to the next in the queue', async () => {
    const { watched, pool } = await connect(echoes, { limits: { inFlight: 1 } });
    const slot = pool.takeSlot()!;
    const result = watched.ask('1');
    expect(pool.stats.pending).toBe(1);
    slot.release();
    expect(await result).toMatchObject({ kind: 'responded' });
  });

  test('can be used only once', async () => {
    const { watched, pool } = await connect(echoes, { limits: { inFlight: 1 } });
    const slot = pool.takeSlot()!;
    await slot.request(ask('1'), watched.in(1_000));
    await expect(slot.request(ask('2'), watched.in(1_000))).rejects.toThrow(
      expect.objectContaining({ code: 'SLOT_SPENT' }),
    );
    slot.release();
    slot.release();
    const other = pool.takeSlot()!;
    expect(pool.takeSlot()).toBeUndefined();
    other.release();
    await expect(other.request(ask('3'), watched.in(1_000))).rejects.toThrow();
    expect(pool.stats).toMatchObject({ held: 0, full: 0, ready: 1 });
  });

  test('held too long is withdrawn and reported', async () => {
    const { watched, pool } = await connect(echoes, { limits: { inFlight: 1 } });
    const slot = pool.takeSlot()!;
    expect(pool.takeSlot()).toBeUndefined();
    watched.clock.advance(60_010);
    expect(pool.stats).toMatchObject({ held: 0, slotsHeldTooLong: 1, ready: 1 });
    await expect(slot.request(ask('1'), watched.in(1_000))).rejects.toThrow(
      expect.objectContaining({ code: 'SLOT_SPENT' }),
    );
  });

  test('a slot whose connection is lost before the request uses another one', async () => {
    const { toy, watched, pool } = await connect(echoes, { limits: { connectionsPerAddress: 2 } });
    const [slot, other] = [pool.takeSlot()!, pool.takeSlot()!];
    await other.request(ask('1'), watched.in(1_000));
    const down = watched.untilState('down');
    toy.peers.find((peer) => peer.notes === 0)!.socket.destroy();
    expect(await down).toMatchObject({ connectionId: slot.connectionId });
    expect(await slot.request(ask('2'), watched.in(1_000))).toMatchObject({
      kind: 'responded',
      connectionId: other.connectionId,
    });
    expect(pool.stats).toMatchObject({ held: 0, inFlight: 0, ready: 1 });
  });

  test('a slot whose connection is lost without another one fails, not written', async () => {
    const { toy, watched, pool } = await connect();
    const slot = pool.takeSlot()!;
    const down = watched.untilState('down');
    toy.peer.socket.destroy();
    await down;
    expect(await slot.request(ask('1'), watched.in(1_000))).toEqual({
      kind: 'failed',
      written: false,
      reason: 'connectionLost',
      connectionId: slot.connectionId,
    });
  });
});

describe('a slot on a specific connection', () => {
  test('is taken on that connection and no other', async () => {
    const { watched, pool } = await connect(echoes, { limits: { connectionsPerAddress: 2 } });
    const original = await watched.ask('1');
    for (let n = 0; n < 5; n++) {
      const slot = pool.takeSlot({ connectionId: original.connectionId })!;
      expect(slot.connectionId).toBe(original.connectionId);
    }
    expect(pool.hasConnection(original.connectionId!)).toBe(true);
  });

  test('is not available after the connection is lost, even if others are ready', async () => {
    const { toy, watched, pool } = await connect(echoes, { limits: { connectionsPerAddress: 2 } });
    const connectionId = (await watched.ask('1')).connectionId!;
    const down = watched.untilState('down');
    toy.peers.find((peer) => peer.notes === 1)!.socket.destroy();
    await down;
    expect(pool.hasConnection(connectionId)).toBe(false);
    expect(pool.takeSlot({ connectionId })).toBeUndefined();
    expect(await pool.waitForSlot({ connectionId, giveUpAtMs: watched.clock.monotonicMs() + 1_000 })).toBeUndefined();
    expect(pool.takeSlot()).toBeDefined();
  });

  test('a slot on a specific connection that is waited for is refused when the connection is lost, and does not move', async () => {
    const { toy, watched, pool } = await connect(isSilent, { limits: { connectionsPerAddress: 2, inFlight: 1 } });
    const slot = pool.takeSlot()!;
    const { connectionId } = slot;
    const lost = slot.request(ask('1'), watched.in(1_000));
    await eventThat(toy, 'note');
    const waiting = pool.waitForSlot({ connectionId, giveUpAtMs: watched.clock.monotonicMs() + 1_000 });
    expect(pool.stats.pending).toBe(1);
    toy.peers.find((peer) => peer.notes === 1)!.socket.destroy();
    expect(await waiting).toBeUndefined();
    expect(await lost).toMatchObject({ written: true, reason: 'connectionLost' });
    expect(pool.stats).toMatchObject({ pending: 0, ready: 1, down: 1 });
  });

  test('a slot on a specific connection that is held fails when the connection is lost, and does not move', async () => {
    const { toy, watched, pool } = await connect(echoes, { limits: { connectionsPerAddress: 2 } });
    const { connectionId } = await watched.ask('1');
    const slot = pool.takeSlot({ connectionId: connectionId! })!;
    const down = watched.untilState('down');
    toy.peers.find((peer) => peer.notes === 1)!.socket.destroy();
    await down;
    expect(await slot.request(ask('2'), watched.in(1_000))).toMatchObject({ written: false, reason: 'connectionLost' });
  });
});

describe('back-pressure', () => {
  test('allows no more in flight than the switch allows, and the others wait their turn', async () => {
    const { toy, watched, pool } = await connect(isSilent, { limits: { inFlight: 3 } });
    const finished: string[] = [];
    const results = Array.from({ length: 8 }, async (_, n) => {
      await watched.ask(`${n}`);
      finished.push(`${n}`);
    });
    await eventThat<Note>(toy, 'note', ({ key }) => key === '2');
    expect(pool.stats).toMatchObject({ inFlight: 3, pending: 5, full: 1, ready: 0 });
    expect(pool.availability).toBe('full');
    for (let n = 0; n < 8; n++) {
      if (toy.notes.length <= n) await eventThat(toy, 'note');
      toy.peer.send(responseTo(`${n}`));
    }
    await Promise.all(results);
    expect(finished).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
    expect(pool.stats).toMatchObject({ inFlight: 0, pending: 0, full: 0, ready: 1 });
  });

  test('takes one slot for each who waited, for any number at the time of the connection', async () => {
    const watched = new WatchedPool({ addresses: [await new ToySwitch().listen()], limits: { inFlight: 5 } });
    const { pool } = watched;
    const slots = Array.from({ length: 3 }, () =>
      pool.waitForSlot({ giveUpAtMs: watched.clock.monotonicMs() + 1_000 }),
    );
    expect(await Promise.all(slots)).toHaveLength(3);
    expect(pool.stats).toMatchObject({ held: 3, ready: 1 });
    expect([pool.takeSlot(), pool.takeSlot(), pool.takeSlot()].map((slot) => slot !== undefined)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('releases every slot, with any outcome of its holder', async () => {
    const inFlight = 4;
    const { toy, watched, pool } = await connect((note, peer) => note.text === 'response' && echoes(note, peer), {
      limits: { inFlight, waiting: 20 },
    });
    for (let round = 0; round < 5; round++) {
      const ended: Promise<unknown>[] = [];
      for (let n = 0; n < 8; n++) {
        const key = `${round} ${n}`;
        ended.push(watched.ask(key, n % 2 ? 'response' : 'silence'));
        ended.push(watched.ask(`${key} too long`, 'x'.repeat(70_000)).catch(() => {}));
        ended.push(
          watched.request(ask(`${key} too late`), {
            ...watched.in(1_000),
            sendByAtMs: watched.clock.monotonicMs() - 1,
          }),
        );
        ended.push(pool.waitForSlot({ giveUpAtMs: watched.clock.monotonicMs() + 500 }).then((slot) => slot?.release()));
      }
      if (round === 3) toy.peer.socket.destroy();
      for (let passedMs = 0; passedMs < 100_000; passedMs += 10_000) {
        await new Promise(setImmediate);
        watched.clock.advance(10_000);
      }
      await Promise.all(ended);
      await watched.untilReady();
    }
    const slots = Array.from({ length: inFlight }, () => pool.takeSlot());
    expect(slots.every((slot) => slot !== undefined)).toBe(true);
    expect(pool.takeSlot()).toBeUndefined();
    expect(pool.stats).toMatchObject({ held: inFlight, inFlight: 0, pending: 0 });
  });

  test('immediately refuses what would wait behind too many others', async () => {
    const { watched, pool } = await connect(isSilent, { limits: { inFlight: 1, waiting: 2 } });
    for (let n = 0; n < 3; n++) void watched.ask(`${n}`);
    expect(await watched.ask('3')).toMatchObject({ kind: 'refused' });
    expect(await pool.waitForSlot({ giveUpAtMs: watched.clock.monotonicMs() + 1_000 })).toBeUndefined();
    expect(pool.stats.pending).toBe(2);
  });

  test('gives up a queued request at its deadline, or when it could no longer be sent in time', async () => {
    const { watched, pool } = await connect(isSilent, { limits: { inFlight: 1 } });
    pool.takeSlot();
    const { deadlineAtMs } = watched.in(1_000);
    const patient = watched.request(ask('1'), { deadlineAtMs });
    const hurried = watched.request(ask('2'), { deadlineAtMs, sendByAtMs: deadlineAtMs - 500 });
    watched.clock.advance(510);
    expect(await hurried).toMatchObject({ kind: 'refused' });
    expect(pool.stats.pending).toBe(1);
    watched.clock.advance(500);
    expect(await patient).toMatchObject({ kind: 'refused' });
  });

  test('frees the slot of a request that was given up', async () => {
    const { toy, watched } = await connect(isSilent, { limits: { inFlight: 1 } });
    const first = watched.request(ask('1'), watched.in(1_000));
    const second = watched.request(ask('2'), watched.in(5_000));
    await eventThat(toy, 'note');
    watched.clock.advance(1_010);
    expect(await first).toMatchObject({ reason: 'deadline' });
    expect(await eventThat<Note>(toy, 'note')).toMatchObject({ key: '2' });
    toy.peer.send(responseTo('2'));
    expect(await second).toMatchObject({ kind: 'responded' });
  });
});
