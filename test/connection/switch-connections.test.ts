import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { PoolOptions } from '../../src/switching/connection/pool-types.ts';
import { freePort } from '../support/free-port.ts';
import { ask, connect, echoes, eventThat, isSilent, type Note, notes, ToySwitch, WatchedPool } from './toy-switch.ts';

describe('a connection that is refused', () => {
  test('is opened again after a backoff that doubles', async () => {
    const toy = new ToySwitch();
    const address = await toy.listen(await freePort());
    await toy.stop();
    const watched = new WatchedPool({ addresses: [address], random: () => 1 });
    for (const [attempt, delayMs] of [200, 400, 800].entries()) {
      expect(await watched.untilState('down')).toMatchObject({
        address: `127.0.0.1:${address.port}`,
        reason: { cause: 'socketError', detail: 'ECONNREFUSED' },
      });
      watched.clock.advance(delayMs - 1);
      expect(watched.pool.stats).toMatchObject({ down: 1, reconnects: attempt });
      watched.clock.advance(11);
      expect(watched.pool.stats).toMatchObject({ connecting: 1, reconnects: attempt + 1 });
    }
  });

  test('becomes ready when the switch is available again', async () => {
    const toy = new ToySwitch();
    const { port } = await toy.listen(await freePort());
    await toy.stop();
    const watched = new WatchedPool({ addresses: [{ host: '127.0.0.1', port }] });
    await watched.untilState('down');
    const again = new ToySwitch();
    await again.listen(port);
    const ready = watched.untilState('ready');
    watched.clock.advance(1_000);
    await ready;
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
  });
});

describe('the backoff of an address', () => {
  const lose = async (toy: ToySwitch, watched: WatchedPool): Promise<void> => {
    const down = watched.untilState('down');
    toy.peer.socket.destroy();
    await down;
  };
  /** How long the pool waits before it connects again, to within a tick. */
  const redialsAfter = async (toy: ToySwitch, watched: WatchedPool): Promise<number> => {
    const before = watched.pool.stats.reconnects;
    const ready = watched.untilState('ready');
    let waitedMs = 0;
    for (; watched.pool.stats.reconnects === before; waitedMs += 10) watched.clock.advance(10);
    await ready;
    await toy.untilPeers(watched.pool.stats.reconnects + 1);
    return waitedMs;
  };

  test('keeps growing while a switch accepts connections only to drop them', async () => {
    const { toy, watched } = await connect(echoes, { random: () => 1 });
    const delaysMs: number[] = [];
    for (let round = 0; round < 4; round++) {
      await lose(toy, watched);
      delaysMs.push(await redialsAfter(toy, watched));
    }
    expect(delaysMs).toEqual([200, 400, 800, 1_600]);
  });

  test('starts again after a connection has been ready for a while', async () => {
    const { toy, watched } = await connect(echoes, { random: () => 1 });
    for (let round = 0; round < 3; round++) {
      await lose(toy, watched);
      await redialsAfter(toy, watched);
    }
    watched.clock.advance(10_000);
    await lose(toy, watched);
    expect(await redialsAfter(toy, watched)).toBe(200);
  });
});

describe('a connection that is lost', () => {
  test.each([
    ['reset', (toy: ToySwitch) => toy.peer.socket.resetAndDestroy(), { cause: 'socketError', detail: 'ECONNRESET' }],
    ['ended', (toy: ToySwitch) => toy.peer.socket.end(), { cause: 'peerClosed' }],
  ])('a connection that is lost after the write (%s) fails its requests, written', async (_, lose, reason) => {
    const { toy, watched, pool } = await connect(isSilent);
    const results = [watched.ask('1'), watched.ask('2')];
    await eventThat<Note>(toy, 'note', ({ key }) => key === '2');
    const down = watched.untilState('down');
    lose(toy);
    expect((await down).reason).toEqual(reason);
    for (const result of await Promise.all(results)) {
      expect(result).toMatchObject({ kind: 'failed', written: true, reason: 'connectionLost' });
    }
    expect(pool.stats).toMatchObject({ inFlight: 0, down: 1 });
  });

  test('a connection that is lost before the write fails the request, not written', async () => {
    const { toy, watched, pool } = await connect(isSilent);
    const slot = pool.takeSlot()!;
    const down = watched.untilState('down');
    toy.peer.socket.resetAndDestroy();
    await down;
    expect(await slot.request(ask('1'), watched.in(1_000))).toMatchObject({ kind: 'failed', written: false });
    expect(toy.notes).toEqual([]);
  });

  test('makes the responses of its requests late if they arrive on another connection', async () => {
    const { toy, watched } = await connect(isSilent);
    const lost = watched.ask('1');
    await eventThat(toy, 'note');
    toy.peer.socket.resetAndDestroy();
    await lost;
    const ready = watched.untilState('ready');
    watched.clock.advance(1_000);
    await ready;
    await toy.untilPeers(2);
    toy.peer.send({ kind: '!', key: '1', text: '' });
    expect(await eventThat(watched, 'unmatched')).toMatchObject({ kind: 'late' });
  });

  test('gets another id when it is opened again', async () => {
    const { toy, watched } = await connect();
    const before = (await watched.ask('1')).connectionId;
    toy.peer.socket.destroy();
    await watched.untilState('down');
    const ready = watched.untilState('ready');
    watched.clock.advance(1_000);
    await ready;
    expect((await watched.ask('2')).connectionId).not.toBe(before);
  });
});

describe('several addresses', () => {
  async function two(balance: PoolOptions<Note>['balance'], behave = echoes) {
    const toys = [new ToySwitch(behave), new ToySwitch(behave)] as const;
    const addresses = [await toys[0].listen(), await toys[1].listen()];
    const watched = new WatchedPool({ addresses, balance });
    while (watched.pool.stats.ready < 2) await eventThat(watched, 'state');
    for (const toy of toys) await toy.untilPeers(1);
    return { toys, watched };
  }

  test('several addresses in order of preference: the first gets everything while it is ready', async () => {
    const { toys, watched } = await two('primary-backup');
    await Promise.all(Array.from({ length: 20 }, (_, n) => watched.ask(`${n}`)));
    expect(toys.map((toy) => toy.notes.length)).toEqual([20, 0]);
  });

  test('several addresses in order of preference: the backup takes over, and returns the traffic', async () => {
    const { toys, watched } = await two('primary-backup');
    const down = watched.untilState('down');
    toys[0].peer.socket.destroy();
    await down;
    await watched.ask('1');
    expect(toys.map((toy) => toy.notes.length)).toEqual([0, 1]);
    const ready = watched.untilState('ready');
    watched.clock.advance(1_000);
    await ready;
    await watched.ask('2');
    expect(toys.map((toy) => toy.notes.length)).toEqual([1, 1]);
  });

  test('several addresses by least in flight: each gets its share', async () => {
    const { toys, watched } = await two('least-in-flight', isSilent);
    for (let n = 0; n < 20; n++) void watched.ask(`${n}`);
    for (const toy of toys) while (toy.notes.length < 10) await once(toy, 'note');
    expect(toys.map((toy) => toy.notes.length)).toEqual([10, 10]);
  });
});

describe('a switch that does not read', () => {
  const large = 'x'.repeat(60_000);

  test('fills its connection, which accepts nothing further until it reads again', async () => {
    const { toy, watched, pool } = await connect(echoes);
    toy.peer.socket.pause();
    const results: Promise<unknown>[] = [];
    for (let n = 0; pool.availability === 'ready'; n++) {
      results.push(watched.ask(`${n}`, large));
      await new Promise(setImmediate);
    }
    expect(pool.availability).toBe('full');
    expect(results.length).toBeLessThan(256);
    toy.peer.socket.resume();
    await Promise.all(results);
    expect(pool.stats).toMatchObject({ ready: 1, inFlight: 0 });
  });

  test('a switch that does not read never gets a request whose deadline passed while its bytes were unsent', async () => {
    const { toy, watched } = await connect(isSilent, { limits: { inFlight: 1_000, unsentBytes: 2 ** 30 } });
    toy.peer.socket.pause();
    const others = Array.from({ length: 600 }, (_, n) => watched.ask(`${n}`, large));
    const last = watched.request(ask('last'), watched.in(5_000));
    await new Promise(setImmediate);
    const down = watched.untilState('down');
    watched.clock.advance(5_010);
    expect(await last).toMatchObject({ kind: 'failed', written: true, reason: 'deadline' });
    expect((await down).reason).toEqual({ cause: 'unsentAtDeadline' });
    expect(await others[0]).toMatchObject({ kind: 'failed', written: true, reason: 'connectionLost' });
    const failed = eventThat(toy.peer.socket, 'error');
    toy.peer.socket.resume();
    expect(await failed).toMatchObject({ code: 'ECONNRESET' });
    expect(toy.notes.map(({ key }) => key)).not.toContain('last');
  });

  test('keeps its connection when a deadline passes after its bytes were sent', async () => {
    const { toy, watched, pool } = await connect(isSilent);
    const result = watched.request(ask('1'), watched.in(5_000));
    await eventThat(toy, 'note');
    watched.clock.advance(5_010);
    expect(await result).toMatchObject({ reason: 'deadline' });
    expect(pool.availability).toBe('ready');
  });
});

describe('a framing that no frame satisfies', () => {
  test('is refused before a connection is opened', () => {
    const protocol = { ...notes, framing: { ...notes.framing, maxFrameBytes: 0 } };
    expect(() => new WatchedPool({ protocol })).toThrow(expect.objectContaining({ code: 'FRAMING_INVALID' }));
  });
});
