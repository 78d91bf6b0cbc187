import { describe, expect, test } from 'vitest';
import {
  ask,
  connect,
  eventThat,
  isSilent,
  type Note,
  notes,
  responseTo,
  ToySwitch,
  UnreadableNote,
  WatchedPool,
} from './toy-switch.ts';

describe('a request', () => {
  test('gets its response, and how long the switch took', async () => {
    const { watched, pool } = await connect();
    expect(await watched.ask('1', 'hello')).toEqual({
      kind: 'responded',
      response: responseTo('1', 'hello'),
      missing: [],
      connectionId: expect.stringMatching(/^toy-[0-9a-f]{8}-1$/),
      roundTripMs: 0,
    });
    expect(pool.stats).toMatchObject({ responded: 1, inFlight: 0, roundTrips: { count: 1 } });
  });

  test('gets its own response when 1,000 arrive in reverse order', async () => {
    const held: Note[] = [];
    const { watched } = await connect(
      (note, peer) => {
        held.push(note);
        if (held.length === 1_000) for (const { key, text } of held.reverse()) peer.send(responseTo(key, text));
      },
      { limits: { inFlight: 1_000 } },
    );
    const results = await Promise.all(Array.from({ length: 1_000 }, (_, n) => watched.ask(`${n}`, `text ${n}`)));
    const responses = results.map((result) => result.kind === 'responded' && result.response);
    expect(responses).toEqual(Array.from({ length: 1_000 }, (_, n) => responseTo(`${n}`, `text ${n}`)));
  });

  test('is sent with all others of its tick in one segment, regardless of their number', async () => {
    const { toy, watched } = await connect();
    const chunks: number[] = [];
    toy.peer.socket.on('data', (chunk) => chunks.push(chunk.length));
    await Promise.all(Array.from({ length: 100 }, (_, n) => watched.ask(`${n}`, 'text')));
    expect(chunks).toHaveLength(1);
  });

  test('a request with a key already in flight is refused, and the first keeps waiting for its response', async () => {
    const { toy, watched, pool } = await connect(isSilent);
    const first = watched.ask('1', 'first');
    await expect(watched.ask('1', 'second')).rejects.toThrow(expect.objectContaining({ code: 'DUPLICATE_KEY' }));
    await eventThat(toy, 'note');
    toy.peer.send(responseTo('1', 'to the first'));
    expect(await first).toMatchObject({ kind: 'responded', response: { text: 'to the first' } });
    expect(toy.notes).toHaveLength(1);
    expect(pool.stats).toMatchObject({ inFlight: 0, ready: 1 });
  });

  test('a request that cannot be encoded is refused, and occupies no slot', async () => {
    const { watched, pool } = await connect(undefined, { limits: { inFlight: 1 } });
    const tooLong = 'x'.repeat(70_000);
    await expect(watched.ask('1', tooLong)).rejects.toThrow();
    expect(await watched.ask('1', 'short')).toMatchObject({ kind: 'responded' });
    expect(pool.stats).toMatchObject({ inFlight: 0, ready: 1 });
  });

  test('is given up at its deadline, written', async () => {
    const { toy, watched, pool } = await connect(isSilent);
    const result = watched.request(ask('1'), watched.in(40_000));
    await eventThat(toy, 'note');
    watched.clock.advance(39_990);
    expect(pool.stats.inFlight).toBe(1);
    watched.clock.advance(20);
    expect(await result).toMatchObject({ kind: 'failed', written: true, reason: 'deadline' });
    expect(pool.stats).toMatchObject({ timedOut: 1, inFlight: 0, ready: 1 });
  });

  test('is not written after the time until which it had to be', async () => {
    const { toy, watched } = await connect();
    const sendByAtMs = watched.clock.monotonicMs() + 100;
    const tooLate = watched.request(ask('1'), { ...watched.in(40_000), sendByAtMs });
    const inTime = watched.request(ask('2'), { ...watched.in(40_000), sendByAtMs: sendByAtMs + 100 });
    watched.clock.advance(101);
    expect(await tooLate).toMatchObject({ kind: 'failed', written: false, reason: 'sendBy' });
    expect(await inTime).toMatchObject({ kind: 'responded' });
    expect(toy.notes.map(({ key }) => key)).toEqual(['2']);
  });

  test('a request with a deadline in the past is not written', async () => {
    const { toy, watched } = await connect();
    expect(await watched.request(ask('1'), watched.in(-1))).toMatchObject({ written: false, reason: 'deadline' });
    await watched.ask('2');
    expect(toy.notes.map(({ key }) => key)).toEqual(['2']);
  });
});

describe('a response', () => {
  test('a response after the deadline is reported as late, and does not change the result', async () => {
    const { toy, watched, pool } = await connect(isSilent);
    const result = watched.request(ask('1'), watched.in(1_000));
    await eventThat(toy, 'note');
    watched.clock.advance(1_000);
    expect(await result).toMatchObject({ kind: 'failed', reason: 'deadline' });
    watched.clock.advance(500);
    toy.peer.send(responseTo('1', 'too late'));
    const unmatched = await eventThat(watched, 'unmatched');
    expect(unmatched).toMatchObject({ kind: 'late', response: { text: 'too late' }, missing: [], sinceMs: 500 });
    expect(pool.stats).toMatchObject({ late: 1, duplicates: 0, unmatched: 0, responded: 0 });
  });

  test('a response that arrives twice is reported as a duplicate', async () => {
    const { watched, pool } = await connect((note, peer) => {
      peer.send(responseTo(note.key, 'once'));
      peer.send(responseTo(note.key, 'twice'));
    });
    const duplicate = eventThat(watched, 'unmatched');
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded', response: { text: 'once' } });
    expect(await duplicate).toMatchObject({ kind: 'duplicate', response: { text: 'twice' } });
    expect(pool.stats).toMatchObject({ duplicates: 1, late: 0 });
  });

  test('a response without a request is reported as unknown', async () => {
    const { toy, watched, pool } = await connect();
    toy.peer.send(responseTo('77'));
    expect(await eventThat(watched, 'unmatched')).toMatchObject({ kind: 'unknown', sinceMs: undefined });
    expect(pool.stats.unmatched).toBe(1);
  });

  test('may arrive on another connection of the switch', async () => {
    const { toy, watched } = await connect(isSilent, { limits: { connectionsPerAddress: 2 } });
    const result = watched.ask('1');
    const asked = await eventThat<Note>(toy, 'note');
    const other = toy.peers.find((peer) => peer.notes === 0)!;
    other.send(responseTo(asked.key, 'from the other side'));
    expect(await result).toMatchObject({ kind: 'responded', response: { text: 'from the other side' } });
  });
});

describe('a response with an incomplete key', () => {
  const forgiving = {
    ...notes,
    missingKeyFields: () => ['key'],
    couldMatch: (response: Note, request: Note) => response.text === request.text,
  };

  test('belongs to the only request of its connection to which it could belong, and reports what it lacked', async () => {
    const { watched } = await connect((note, peer) => note.text === 'b' && peer.send(responseTo('', 'b')), {
      protocol: forgiving,
    });
    void watched.ask('1', 'a');
    expect(await watched.ask('2', 'b')).toMatchObject({ kind: 'responded', missing: ['key'] });
  });

  test('belongs to none if it could belong to two', async () => {
    const { toy, watched, pool } = await connect(isSilent, { protocol: forgiving });
    void watched.ask('1', 'same');
    void watched.ask('2', 'same');
    await eventThat<Note>(toy, 'note', ({ key }) => key === '2');
    toy.peer.send(responseTo('', 'same'));
    expect(await eventThat(watched, 'unmatched')).toMatchObject({ kind: 'unknown', missing: ['key'] });
    expect(pool.stats).toMatchObject({ inFlight: 2, unmatched: 1 });
  });

  test('belongs to no request of another connection', async () => {
    const { toy, watched, pool } = await connect(isSilent, {
      protocol: forgiving,
      limits: { connectionsPerAddress: 2 },
    });
    void watched.ask('1', 'a');
    await eventThat(toy, 'note');
    toy.peers.find((peer) => peer.notes === 0)!.send(responseTo('', 'a'));
    expect(await eventThat(watched, 'unmatched')).toMatchObject({ kind: 'unknown', missing: ['key'] });
    expect(pool.stats.inFlight).toBe(1);
  });

  test('is reported with what is missing if the protocol requires the complete key', async () => {
    const { toy, watched } = await connect(isSilent, { protocol: { ...notes, missingKeyFields: () => ['key'] } });
    void watched.ask('1', 'a');
    await eventThat(toy, 'note');
    toy.peer.send(responseTo('', 'a'));
    expect(await eventThat(watched, 'unmatched')).toMatchObject({ kind: 'unknown', missing: ['key'] });
  });
});

describe('a message that cannot be read', () => {
  const garbled: Note = { kind: '!', key: '1', text: '' };

  test('is counted and reported with its code, and the connection remains', async () => {
    const { toy, watched, pool } = await connect();
    const line = eventThat<object>(watched, 'log', (entry) => 'code' in entry);
    toy.peer.socket.write('\0\x05hello');
    expect(await line).toMatchObject({ code: 'UNREADABLE_NOTE' });
    expect(JSON.stringify(await line)).not.toContain('hello');
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
    expect(pool.stats).toMatchObject({ badMessages: 1, ready: 1, reconnects: 0 });
  });

  test('immediately ends the request to which it belongs, if its key can be read', async () => {
    const salvage = (error: unknown) => (error instanceof UnreadableNote ? error.partial : undefined);
    const { watched, pool } = await connect((note, peer) => peer.socket.write(`\0\x02!${note.key}`), {
      protocol: { ...notes, salvage },
    });
    expect(await watched.ask('1')).toMatchObject({ kind: 'unreadable', error: { code: 'UNREADABLE_NOTE' } });
    expect(pool.stats).toMatchObject({ badMessages: 1, inFlight: 0, responded: 0 });
  });

  test('an unreadable message whose key cannot be read either is only a bad message', async () => {
    const protocol = {
      ...notes,
      salvage: () => garbled,
      responseKey: () => {
        throw new RangeError('no key here');
      },
    };
    const { toy, watched, pool } = await connect(isSilent, { protocol });
    toy.peer.socket.write('\0\x02!1');
    await eventThat<object>(watched, 'log', (entry) => 'code' in entry);
    expect(pool.stats).toMatchObject({ badMessages: 1, ready: 1 });
  });

  test('does not flood the log, which states how much it left out', async () => {
    const { toy, watched, pool } = await connect();
    const lines: object[] = [];
    watched.on('log', (entry) => 'code' in entry && lines.push(entry));
    for (let n = 0; n < 500; n++) toy.peer.socket.write('\0\x05hello');
    await watched.ask('1');
    expect(pool.stats.badMessages).toBe(500);
    expect(lines).toHaveLength(10);
    watched.clock.advance(1_000);
    toy.peer.socket.write('\0\x05hello');
    await watched.ask('2');
    expect(lines.at(-1)).toMatchObject({ suppressed: 490 });
  });
});

describe('a frame that cannot be read', () => {
  const limited = { protocol: { ...notes, framing: { ...notes.framing, maxFrameBytes: 1_000 } } };

  test('a frame that is too long closes the connection: the rest of the stream cannot be read', async () => {
    const { toy, watched, pool } = await connect(isSilent, limited);
    const result = watched.ask('1');
    await eventThat(toy, 'note');
    const down = watched.untilState('down');
    toy.peer.socket.write('\xff\xff', 'latin1');
    expect(await down).toMatchObject({ from: 'ready', reason: { cause: 'badFrame', detail: 'FRAME_TOO_LONG' } });
    expect(await result).toMatchObject({ kind: 'failed', written: true, reason: 'connectionLost' });
    expect(pool.stats).toMatchObject({ badFrames: 1, ready: 0, down: 1 });
  });

  test('does not affect the responses before it', async () => {
    const { watched } = await connect((note, peer) => {
      peer.socket.write(Buffer.concat([peer.frame(responseTo(note.key)), Buffer.of(0xff, 0xff)]));
    }, limited);
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
  });

  test('is not one without content: such a keep-alive is passed over', async () => {
    const { watched, pool } = await connect((note, peer) => {
      peer.socket.write(Buffer.concat([Buffer.of(0, 0), peer.frame(responseTo(note.key)), Buffer.of(0, 0)]));
    });
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
    expect(await watched.ask('2')).toMatchObject({ kind: 'responded' });
    expect(pool.stats).toMatchObject({ badFrames: 0, ready: 1 });
  });
});

describe('a request of the switch', () => {
  test('receives a response on its own connection according to the protocol, with the transport header swapped', async () => {
    const transportHeader = { kind: 'tpdu', bytes: Uint8Array.of(0x60, 0, 1, 0, 2) } as const;
    const protocol = {
      ...notes,
      framing: { ...notes.framing, transportHeader },
      onRequest: (request: Note, reply: (response: Note) => void) => reply(responseTo(request.key, 'here')),
    };
    const { toy } = await connect(isSilent, { protocol });
    const read: Buffer[] = [];
    toy.peer.socket.on('data', (chunk) => read.push(chunk));
    toy.peer.send(ask('9'));
    expect(await eventThat(toy, 'note')).toEqual(responseTo('9', 'here'));
    expect([...Buffer.concat(read).subarray(2, 7)]).toEqual([0x60, 0, 2, 0, 1]);
  });

  test('a request of the switch without a handler is reported', async () => {
    const { toy, watched, pool } = await connect();
    toy.peer.send(ask('9'));
    const isReport = (entry: { text: string }) => entry.text === 'switch request has no handler, ignored';
    expect(await eventThat(watched, 'log', isReport)).toMatchObject({ suppressed: 0 });
    expect(pool.availability).toBe('ready');
  });

  test('a request of the switch on which the protocol fails is a bad message, and the connection remains', async () => {
    const protocol = {
      ...notes,
      onRequest: async () => {
        throw new TypeError('a fault of the gateway');
      },
    };
    const { toy, watched, pool } = await connect(undefined, { protocol });
    toy.peer.send(ask('9'));
    await eventThat<object>(watched, 'log', (entry) => 'code' in entry);
    expect(pool.stats.badMessages).toBe(1);
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
  });

  test('a request of the switch that is repeated by a switch that reads no responses closes the connection', async () => {
    const protocol = {
      ...notes,
      onRequest: (request: Note, reply: (response: Note) => void) => reply(responseTo(request.key, 'x'.repeat(60_000))),
    };
    const { toy, watched } = await connect(isSilent, { protocol });
    toy.peer.socket.pause();
    const down = watched.untilState('down');
    let isDown = false;
    void down.then(() => {
      isDown = true;
    });
    const floodOn = (): void => {
      if (!isDown) toy.peer.socket.write(toy.peer.frame(ask('9')), floodOn);
    };
    floodOn();
    expect(await down).toMatchObject({ reason: { cause: 'repliesUnread' } });
  });
});

describe('a pool without a switch', () => {
  test('fails immediately if no connection is ready or connecting', async () => {
    const watched = new WatchedPool({ addresses: [] });
    expect(watched.pool.availability).toBe('down');
    expect(await watched.ask('1')).toMatchObject({ kind: 'refused' });
    expect(watched.pool.takeSlot()).toBeUndefined();
  });

  test('lets a request wait while a connection is being opened, and fails it if that is refused', async () => {
    const toy = new ToySwitch();
    const address = await toy.listen();
    await toy.stop();
    const watched = new WatchedPool({ addresses: [address] });
    expect(watched.pool.availability).toBe('connecting');
    const result = watched.ask('1');
    expect(watched.pool.stats.pending).toBe(1);
    expect(await result).toMatchObject({ kind: 'refused' });
  });

  test('lets a request wait while a connection is being opened, and sends it then', async () => {
    const toy = new ToySwitch();
    const watched = new WatchedPool({ addresses: [await toy.listen()] });
    expect(watched.pool.availability).toBe('connecting');
    expect(await watched.ask('1', 'patience')).toMatchObject({ kind: 'responded', response: { text: 'patience' } });
  });
});
