import { describe, expect, test } from 'vitest';
import type { SessionStep } from '../../src/codecs/iso8583/network/switch-protocol.ts';
import { ask, type Behaviour, eventThat, type Note, notes, responseTo, ToySwitch, WatchedPool } from './toy-switch.ts';

const echo: SessionStep<Note> = async (line) => (await line.exchange(ask(`echo ${line.connectionId}`))).text === 'ok';
const protocol = { ...notes, echo };
const isEcho = ({ key }: Note) => key.startsWith('echo');

/** Responds to everything while it is not mute; it may respond to requests from that time later. */
function mutable() {
  const state = { isMute: false, held: [] as (() => void)[] };
  const behaviour: Behaviour = (note, peer) => {
    const reply = () => peer.send(responseTo(note.key, isEcho(note) ? 'ok' : note.text));
    if (state.isMute) state.held.push(reply);
    else reply();
  };
  return { state, behaviour };
}

async function open(count: number) {
  const sides = Array.from({ length: count }, mutable);
  const toys = sides.map(({ behaviour }) => new ToySwitch(behaviour));
  const addresses = await Promise.all(toys.map((toy) => toy.listen()));
  const timeouts = { suspectMs: 2_000, suspectEchoMs: 30_000, idleEchoMs: 600_000 };
  const watched = new WatchedPool({ addresses, protocol, timeouts });
  for (const _ of toys) await watched.untilState('ready');
  const asked = (index: number) => toys[index]!.notes.filter((note) => !isEcho(note)).map(({ key }) => key);
  return { states: sides.map(({ state }) => state), toys, watched, asked };
}

describe('a silent connection with a backup', () => {
  test('gets an echo immediately and no further requests, and gets them again after it has responded', async () => {
    const { states, toys, watched, asked } = await open(2);
    expect(await watched.ask('1')).toMatchObject({ kind: 'responded' });
    states[0]!.isMute = true;
    const first = watched.request(ask('2'), watched.in(30_000));
    await eventThat<Note>(toys[0]!, 'note', ({ key }) => key === '2');
    const sent = eventThat<Note>(toys[0]!, 'note', isEcho);
    watched.clock.advance(2_010);
    await sent;
    for (const key of ['3', '4', '5', '6']) expect(await watched.ask(key)).toMatchObject({ kind: 'responded' });
    expect(asked(0)).toEqual(['1', '2']);
    expect(asked(1)).toEqual(['3', '4', '5', '6']);

    states[0]!.isMute = false;
    for (const reply of states[0]!.held.splice(0)) reply();
    expect(await first).toMatchObject({ kind: 'responded' });
    expect(await watched.ask('7')).toMatchObject({ kind: 'responded' });
    expect(asked(0)).toEqual(['1', '2', '7']);
  });

  test('a silent connection that responds to its echo but to no request is avoided after three missed deadlines in a row, for half a minute', async () => {
    const { states, watched, asked } = await open(2);
    const [first] = states;
    for (const key of ['1', '2', '3']) {
      first!.isMute = true;
      const lost = watched.request(ask(key), watched.in(1_000));
      await expect.poll(() => first!.held.length).toBe(1);
      watched.clock.advance(1_010);
      expect(await lost).toMatchObject({ kind: 'failed', reason: 'deadline' });
      first!.isMute = false;
      first!.held.pop()!(); // late: it reads and writes, but cannot be used
      await expect.poll(() => watched.pool.stats.late).toBe(Number(key));
    }
    expect(await watched.ask('4')).toMatchObject({ kind: 'responded' });
    expect(asked(0)).toEqual(['1', '2', '3']);
    watched.clock.advance(30_010);
    expect(await watched.ask('5')).toMatchObject({ kind: 'responded' });
    expect(asked(0)).toEqual(['1', '2', '3', '5']);
  });
});

describe('the only connection', () => {
  test('the only connection still gets every request while it is silent, and is not closed within the deadline of a slow switch', async () => {
    const { states, toys, watched, asked } = await open(1);
    states[0]!.isMute = true;
    const slow = watched.request(ask('1'), watched.in(30_000));
    await eventThat<Note>(toys[0]!, 'note', ({ key }) => key === '1');
    const sent = eventThat<Note>(toys[0]!, 'note', isEcho);
    watched.clock.advance(2_010);
    await sent;
    expect(watched.pool.isSuspect).toBe(true);
    const second = watched.request(ask('2'), watched.in(30_000));
    await eventThat<Note>(toys[0]!, 'note', ({ key }) => key === '2');
    watched.clock.advance(27_000);
    for (const reply of states[0]!.held.splice(0)) reply();
    expect(await Promise.all([slow, second])).toMatchObject([{ kind: 'responded' }, { kind: 'responded' }]);
    expect(watched.pool.availability).toBe('ready');
    expect(watched.pool.isSuspect).toBe(false);
    expect(asked(0)).toEqual(['1', '2']);
  });

  test('is closed if it has not responded to its echo for a whole deadline', async () => {
    const { states, toys, watched } = await open(1);
    states[0]!.isMute = true;
    const lost = watched.request(ask('1'), watched.in(60_000));
    await eventThat<Note>(toys[0]!, 'note', ({ key }) => key === '1');
    const sent = eventThat<Note>(toys[0]!, 'note', isEcho);
    watched.clock.advance(2_010);
    await sent;
    const down = watched.untilState('down');
    watched.clock.advance(30_010);
    expect(await down).toMatchObject({ reason: { cause: 'echoFailed' } });
    expect(await lost).toMatchObject({ kind: 'failed', written: true, reason: 'connectionLost' });
  });
});
