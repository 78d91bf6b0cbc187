import { describe, expect, test } from 'vitest';
import { ConnectionError } from '../../src/basics/errors.ts';
import type { ProtocolConnection, SessionStep } from '../../src/codecs/iso8583/network/switch-protocol.ts';
import {
  ask,
  type Behaviour,
  connect,
  echoes,
  eventThat,
  isSilent,
  type Note,
  notes,
  responseTo,
  ToySwitch,
  WatchedPool,
} from './toy-switch.ts';

/** A step that asks `word` and is accepted if the response is `ok`. */
const step = (word: string): SessionStep<Note> => {
  let count = 0;
  return async (line) => (await line.exchange(ask(`${word} ${++count}`))).text === 'ok';
};

const protocolWith = (steps: Partial<Record<'signOn' | 'echo' | 'signOff', SessionStep<Note>>>) => ({
  ...notes,
  ...steps,
});

/** Accepts every step of a session, and echoes other requests. */
const accepts: Behaviour = (note, peer) => {
  const isStep = /^(sign on|sign off|echo) /.test(note.key);
  peer.send(responseTo(note.key, isStep ? 'ok' : note.text));
};

describe('sign-on', () => {
  test('is the first message, and makes the connection ready', async () => {
    const { toy, watched } = await connect(accepts, { protocol: protocolWith({ signOn: step('sign on') }) });
    await watched.ask('1');
    expect(toy.notes.map(({ key }) => key)).toEqual(['sign on 1', '1']);
  });

  test('a sign-on that receives no response leaves the connection unready, and closes it', async () => {
    const toy = new ToySwitch(isSilent);
    const watched = new WatchedPool({
      addresses: [await toy.listen()],
      protocol: protocolWith({ signOn: step('sign on') }),
    });
    const request = watched.ask('1');
    const { key } = await eventThat<Note>(toy, 'note');
    expect([key, watched.pool.availability]).toEqual(['sign on 1', 'connecting']);
    const down = watched.untilState('down');
    watched.clock.advance(10_010);
    expect(await down).toMatchObject({ from: 'connecting', reason: { cause: 'signOnFailed' } });
    expect(await request).toMatchObject({ kind: 'refused' });
    expect(toy.notes).toHaveLength(1);
  });

  test.each([
    ['that is refused', step('sign on'), 'refused'],
    ['that is refused with a code', async () => '63', 'refused with 63'],
    [
      'that throws',
      async () => {
        throw new TypeError('4111111111111111');
      },
      'TypeError',
    ],
    [
      'that throws before it waits',
      (() => {
        throw new RangeError('no');
      }) as SessionStep<Note>,
      'RangeError',
    ],
  ] as const)('%s closes the connection, and reports why without quoting', async (_, signOn, detail) => {
    const toy = new ToySwitch((note, peer) => peer.send(responseTo(note.key, 'no')));
    const watched = new WatchedPool({ addresses: [await toy.listen()], protocol: protocolWith({ signOn }) });
    const change = await watched.untilState('down');
    expect(change.reason).toEqual({ cause: 'signOnFailed', detail });
  });

  test('a sign-on that hangs without sending anything closes the connection, too', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const signOn: SessionStep<Note> = () => {
      resolve();
      return new Promise(() => {});
    };
    const watched = new WatchedPool({
      addresses: [await new ToySwitch().listen()],
      protocol: protocolWith({ signOn }),
    });
    await promise;
    const down = watched.untilState('down');
    watched.clock.advance(10_010);
    expect((await down).reason).toEqual({ cause: 'signOnFailed', detail: 'timeout' });
  });

  test('is repeated on a connection that is taken out of use, while requests in flight still receive a response', async () => {
    const held: Note[] = [];
    const { toy, watched, pool } = await connect(
      (note, peer) => (note.key === '1' ? held.push(note) : note.key !== 'sign on 2' && accepts(note, peer)),
      { protocol: protocolWith({ signOn: step('sign on') }) },
    );
    const inFlight = watched.ask('1');
    const slot = pool.takeSlot()!;
    await eventThat<Note>(toy, 'note', ({ key }) => key === '1');
    pool.signOnAgain(slot.connectionId);
    pool.signOnAgain(slot.connectionId);
    expect(pool.availability).toBe('connecting');
    expect(await slot.request(ask('2'), watched.in(1_000))).toMatchObject({ written: false, reason: 'connectionLost' });
    const waiting = watched.ask('3');
    toy.peer.send(responseTo('1', 'still here'));
    expect(await inFlight).toMatchObject({ kind: 'responded', response: { text: 'still here' } });
    toy.peer.send(responseTo('sign on 2', 'ok'));
    expect(await waiting).toMatchObject({ kind: 'responded' });
    expect(toy.notes.map(({ key }) => key)).toEqual(['sign on 1', '1', 'sign on 2', '3']);
    expect(pool.stats.reconnects).toBe(0);
  });

  test('changes keys under load without losing a request', async () => {
    const keyed: SessionStep<Note> = async (line) => {
      const signedOn = await line.exchange(ask(`sign on ${line.connectionId} ${Math.random()}`));
      const key = await line.exchange(ask(`sign on key ${line.connectionId} ${Math.random()}`));
      return signedOn.text === 'ok' && key.text === 'ok';
    };
    const { watched, pool } = await connect(accepts, {
      protocol: protocolWith({ signOn: keyed }),
      limits: { connectionsPerAddress: 2, inFlight: 8 },
    });
    const connectionIds = new Set<string | undefined>();
    for (let round = 0; round < 10; round++) {
      const results = Array.from({ length: 50 }, (_, n) => watched.ask(`${round} ${n}`));
      const [{ connectionId }] = await Promise.all([results[round]!]);
      pool.signOnAgain(connectionId!);
      for (const result of await Promise.all(results)) {
        expect(result.kind).toBe('responded');
        connectionIds.add(result.connectionId);
      }
    }
    expect(connectionIds.size).toBe(2);
    expect(pool.stats).toMatchObject({ reconnects: 0, timedOut: 0, pending: 0 });
  });

  test('can be requested by the switch', async () => {
    const protocol = {
      ...protocolWith({ signOn: step('sign on') }),
      onRequest: (request: Note, reply: (response: Note) => void, line: { signOnAgain(): void }) => {
        reply(responseTo(request.key, 'will do'));
        line.signOnAgain();
      },
    };
    const { toy, watched } = await connect(accepts, { protocol });
    toy.peer.send(ask('you are signed off'));
    await watched.untilState('ready');
    expect(toy.notes.map(({ key }) => key)).toEqual(['sign on 1', 'you are signed off', 'sign on 2']);
  });
});

describe('an idle connection', () => {
  test('gets an echo after each period of silence', async () => {
    const { toy, watched, pool } = await connect(accepts, { protocol: protocolWith({ echo: step('echo') }) });
    for (let count = 1; count <= 3; count++) {
      const echo = eventThat<Note>(toy, 'note');
      watched.clock.advance(60_010);
      expect(await echo).toMatchObject({ key: `echo ${count}` });
      // Two round trips later the response to the echo has been read and processed.
      for (const turn of ['a', 'b']) await watched.ask(`${turn} ${count}`);
    }
    expect(pool.availability).toBe('ready');
  });

  test('gets no echo while it has traffic', async () => {
    const { toy, watched } = await connect(accepts, { protocol: protocolWith({ echo: step('echo') }) });
    for (let n = 0; n < 10; n++) {
      watched.clock.advance(59_000);
      await watched.ask(`${n}`);
    }
    expect(toy.notes.filter(({ key }) => key.startsWith('echo'))).toEqual([]);
  });

  test('an idle connection whose echo receives no response is closed: the other end is lost or half open', async () => {
    const { toy, watched } = await connect(isSilent, { protocol: protocolWith({ echo: step('echo') }) });
    const echo = eventThat<Note>(toy, 'note');
    watched.clock.advance(60_010);
    await echo;
    const down = watched.untilState('down');
    watched.clock.advance(10_010);
    expect(await down).toMatchObject({ reason: { cause: 'echoFailed' } });
  });

  test('an idle connection whose echo cannot be sent remains open: its requests may still receive a response, and the echo is tried again', async () => {
    const sendEcho = step('echo');
    let tries = 0;
    const echo: SessionStep<Note> = (line) => {
      if (++tries === 1) throw new ConnectionError('NOT_SENT');
      return sendEcho(line);
    };
    const { toy, watched, pool } = await connect(isSilent, { protocol: protocolWith({ echo }) });
    watched.clock.advance(50_000);
    const result = watched.request(ask('1'), watched.in(40_000));
    await eventThat<Note>(toy, 'note');
    watched.clock.advance(10_010);
    await expect.poll(() => tries).toBe(1);
    expect(pool.availability).toBe('ready');
    const again = eventThat<Note>(toy, 'note', ({ key }) => key.startsWith('echo'));
    watched.clock.advance(10_010);
    await again;
    expect(tries).toBe(2);
    toy.peer.send(responseTo('1', 'late'));
    expect(await result).toMatchObject({ kind: 'responded' });
  });

  test('gets an echo even if others keep writing to it without a response', async () => {
    const { toy, watched } = await connect(isSilent, { protocol: protocolWith({ echo: step('echo') }) });
    for (let n = 0; n < 3; n++) {
      const result = watched.request(ask(`${n}`), watched.in(20_000));
      await eventThat<Note>(toy, 'note', ({ key }) => key === `${n}`);
      watched.clock.advance(20_000);
      await result;
    }
    expect(await eventThat<Note>(toy, 'note', ({ key }) => key.startsWith('echo'))).toBeDefined();
  });

  test('an idle connection without an echo message remains open as long as no request waits for a response', async () => {
    const { watched, pool } = await connect();
    await watched.ask('1');
    watched.clock.advance(24 * 3_600_000);
    expect(pool.availability).toBe('ready');
    expect(await watched.ask('2')).toMatchObject({ kind: 'responded' });
  });

  test('an idle connection without an echo message remains open after its own request received a response', async () => {
    const protocol = {
      ...notes,
      onRequest: (request: Note, reply: (response: Note) => void) => reply(responseTo(request.key)),
    };
    const { toy, watched, pool } = await connect(isSilent, { protocol });
    toy.peer.send(ask('9'));
    await eventThat(toy, 'note');
    watched.clock.advance(24 * 3_600_000);
    expect(pool.availability).toBe('ready');
  });

  test('an idle connection without an echo message is closed when its requests receive no response', async () => {
    const { toy, watched } = await connect(isSilent);
    for (let n = 0; n < 3; n++) {
      const result = watched.request(ask(`${n}`), watched.in(39_000));
      await eventThat(toy, 'note');
      watched.clock.advance(39_000);
      expect(await result).toMatchObject({ reason: 'deadline' });
    }
    const down = watched.untilState('down');
    const ended = eventThat(toy.peer.socket, 'error');
    watched.clock.advance(120_000);
    expect(await down).toMatchObject({ reason: { cause: 'silence' } });
    // A reset, so that bytes of those requests in this machine's kernel are never sent after their reversals.
    expect(await ended).toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('closing a pool', () => {
  test('lets requests in flight and held slots finish, then signs off, then closes', async () => {
    const held: Note[] = [];
    const { toy, watched, pool } = await connect(
      (note, peer) => (note.key === '1' ? held.push(note) : accepts(note, peer)),
      {
        protocol: protocolWith({ signOff: step('sign off') }),
      },
    );
    const slot = pool.takeSlot()!;
    const inFlight = watched.ask('1');
    await eventThat(toy, 'note');
    const closed = pool.close(watched.in(30_000));
    expect(pool.availability).toBe('closed');
    expect(pool.takeSlot()).toBeUndefined();
    expect(await watched.ask('9')).toMatchObject({ kind: 'refused' });
    expect(await slot.request(ask('2'), watched.in(1_000))).toMatchObject({ kind: 'responded' });
    let isReset = false;
    toy.peer.socket.on('error', () => {
      isReset = true;
    });
    const ended = eventThat(toy.peer.socket, 'close');
    toy.peer.send(responseTo('1'));
    expect(await inFlight).toMatchObject({ kind: 'responded' });
    await closed;
    await ended;
    expect(isReset).toBe(false);
    expect(toy.notes.map(({ key }) => key)).toEqual(['1', '2', 'sign off 1']);
    expect(pool.stats).toMatchObject({ ready: 0, draining: 0, down: 0, connecting: 0, inFlight: 0 });
    expect(watched.clock.timers).toBe(0);
  });

  test('destroys what has not finished at its deadline, and reports it as written', async () => {
    const { toy, watched, pool } = await connect(isSilent);
    const inFlight = watched.ask('1');
    await eventThat(toy, 'note');
    const closed = pool.close(watched.in(5_000));
    watched.clock.advance(5_010);
    await closed;
    expect(await inFlight).toMatchObject({ kind: 'failed', written: true, reason: 'closed' });
  });

  test('does not wait for a switch that never responds to the sign-off', async () => {
    const { toy, watched, pool } = await connect(isSilent, { protocol: protocolWith({ signOff: step('sign off') }) });
    const closed = pool.close(watched.in(30_000));
    await eventThat(toy, 'note');
    watched.clock.advance(2_010);
    await closed;
    expect(pool.stats.draining).toBe(0);
  });

  test('refuses those who wait for a slot', async () => {
    const { watched, pool } = await connect(isSilent, { limits: { inFlight: 1 } });
    const slot = pool.takeSlot()!;
    const waiting = pool.waitForSlot({ giveUpAtMs: watched.clock.monotonicMs() + 10_000 });
    const request = watched.ask('1');
    const closed = pool.close(watched.in(30_000));
    expect(await waiting).toBeUndefined();
    expect(await request).toMatchObject({ kind: 'refused' });
    expect(pool.availability).toBe('closed');
    slot.release();
    await closed;
  });

  test('ends immediately if nothing is connected, also the second time', async () => {
    const watched = new WatchedPool({ addresses: [] });
    await watched.pool.close(watched.in(1_000));
    await watched.pool.close(watched.in(1_000));
    expect(watched.pool.availability).toBe('closed');
  });

  test('does not connect again', async () => {
    const { toy, watched, pool } = await connect();
    const down = watched.untilState('down');
    toy.peer.socket.destroy();
    await down;
    await pool.close(watched.in(1_000));
    watched.clock.advance(3_600_000);
    expect(pool.stats).toMatchObject({ connecting: 0, reconnects: 0 });
  });
});

describe('a connection', () => {
  test('a connection that is closed fails an exchange immediately', async () => {
    const { promise, resolve } = Promise.withResolvers<ProtocolConnection<Note>>();
    const protocol = {
      ...notes,
      onRequest: (_request: Note, _reply: unknown, line: ProtocolConnection<Note>) => resolve(line),
    };
    const { toy, watched } = await connect(isSilent, { protocol });
    toy.peer.send(ask('9'));
    const line = await promise;
    const down = watched.untilState('down');
    toy.peer.socket.destroy();
    await down;
    await expect(line.exchange(ask('1'))).rejects.toThrow(expect.objectContaining({ code: 'EXCHANGE_FAILED' }));
  });
});

describe('destroying a pool', () => {
  test('fails requests in flight immediately, and distinguishes written ones from others', async () => {
    const { toy, watched, pool } = await connect(isSilent);
    const written = watched.ask('1');
    await eventThat(toy, 'note');
    const encoded = watched.ask('2');
    pool.destroy();
    expect(await written).toMatchObject({ kind: 'failed', written: true, reason: 'closed' });
    expect(await encoded).toMatchObject({ kind: 'failed', written: false, reason: 'closed' });
    await eventThat(toy.peer.socket, 'close');
    expect(toy.notes.map(({ key }) => key)).toEqual(['1']);
  });

  test('takes slots out of use', async () => {
    const { watched, pool } = await connect(echoes);
    const slot = pool.takeSlot()!;
    pool.destroy();
    expect(await slot.request(ask('1'), watched.in(1_000))).toMatchObject({ kind: 'failed', written: false });
  });
});
