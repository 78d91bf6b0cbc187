import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import { FrameReader, type Framing, frameOf } from '../../src/connection/framing.ts';
import { openPool, type Pool } from '../../src/connection/pool.ts';
import type { PoolOptions } from '../../src/connection/pool-options.ts';
import type { SwitchProtocol } from '../../src/connection/switch-protocol.ts';
import { TapwireError } from '../../src/errors.ts';

/** A language just rich enough to test connections: `?key|text` asks, `!key|text` answers; the key may be left out. */
export interface Note {
  readonly kind: '?' | '!';
  readonly key: string;
  readonly text: string;
}

export class UnreadableNote extends TapwireError {
  readonly code = 'UNREADABLE_NOTE';
  readonly partial: Note;

  constructor(partial: Note) {
    super('UNREADABLE_NOTE');
    this.partial = partial;
  }
}

export const ask = (key: string, text = ''): Note => ({ kind: '?', key, text });
export const answer = (key: string, text = ''): Note => ({ kind: '!', key, text });

export const framing: Framing = { lengthBytes: 2, lengthIncludesHeader: false, maxFrameBytes: 65_535 };

function decode(bytes: Uint8Array, start: number, end: number): Note {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');
  const bar = text.indexOf('|');
  const note = { kind: text[0] as '?' | '!', key: text.slice(1, bar < 0 ? undefined : bar), text: text.slice(bar + 1) };
  if (bar < 0 || (note.kind !== '?' && note.kind !== '!')) throw new UnreadableNote(note);
  return note;
}

export const notes: SwitchProtocol<Note> = {
  framing,
  encode: (note, target, offset) =>
    offset +
    Buffer.from(target.buffer, target.byteOffset).write(`${note.kind}${note.key}|${note.text}`, offset, 'latin1'),
  decode,
  isResponse: (note) => note.kind === '!',
  requestKey: (note) => note.key,
  responseKey: (note) => note.key || undefined,
};

/** The switch's side of one connection. */
export class ToyPeer {
  readonly socket: net.Socket;
  readonly #framing: Framing;

  constructor(socket: net.Socket, spoken: Framing, onNote: (note: Note, peer: ToyPeer) => void) {
    this.socket = socket;
    this.#framing = spoken;
    const reader = new FrameReader(spoken, (bytes, start, end) => onNote(decode(bytes, start, end), this));
    socket.on('data', (chunk) => reader.push(chunk));
    socket.on('error', () => {});
  }

  send(note: Note): void {
    this.socket.write(this.frame(note));
  }

  frame(note: Note): Uint8Array {
    return frameOf(this.#framing, Buffer.from(`${note.kind}${note.key}|${note.text}`, 'latin1'));
  }
}

/** What a toy switch does with a note; echoes it by default. */
export type Behaviour = (note: Note, peer: ToyPeer) => void;

export const echoes: Behaviour = (note, peer) => peer.send(answer(note.key, note.text));
export const isSilent: Behaviour = () => {};

/**
 * A switch that does as the test says. Events: `peer` with each connection, `note` with each note read and its peer.
 */
export class ToySwitch extends EventEmitter {
  readonly server: net.Server;
  readonly peers: ToyPeer[] = [];
  readonly notes: Note[] = [];
  behave: Behaviour;
  readonly #framing: Framing;

  constructor(behave: Behaviour = echoes, options: { framing?: Framing; server?: net.Server } = {}) {
    super();
    this.behave = behave;
    this.#framing = options.framing ?? framing;
    this.server = options.server ?? net.createServer();
    this.server.on(options.server ? 'secureConnection' : 'connection', (socket) => this.adopt(socket));
  }

  adopt(socket: net.Socket): ToyPeer {
    const peer = new ToyPeer(socket, this.#framing, (note) => {
      this.notes.push(note);
      this.behave(note, peer);
      this.emit('note', note, peer);
    });
    this.peers.push(peer);
    this.emit('peer', peer);
    return peer;
  }

  async listen(port = 0): Promise<{ host: string; port: number }> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    return { host: '127.0.0.1', port: (this.server.address() as net.AddressInfo).port };
  }

  async stop(): Promise<void> {
    for (const peer of this.peers) peer.socket.destroy();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A pool with its state changes, unmatched responses and log lines as events: `state`, `unmatched`, `log`. */
export interface WatchedPool {
  readonly pool: Pool<Note>;
  readonly events: EventEmitter;
}

export function openWatchedPool(options: Partial<PoolOptions<Note>>): WatchedPool {
  const events = new EventEmitter({ captureRejections: false });
  const report = (fields: object, text: string) => events.emit('log', { ...fields, text });
  const pool = openPool<Note>({
    name: 'toy',
    protocol: notes,
    addresses: [],
    log: { info: report, warn: report },
    onStateChange: (change) => events.emit('state', change),
    onUnmatched: (unmatched) => events.emit('unmatched', unmatched),
    timeouts: { backoff: { firstMs: 1, mostMs: 20 }, ...options.timeouts },
    ...options,
  });
  return { pool, events };
}

/** Waits for the first event that satisfies the test. */
export async function eventThat<T>(events: EventEmitter, name: string, holds: (value: T) => boolean): Promise<T> {
  return new Promise((resolve) => {
    const look = (value: T): void => {
      if (!holds(value)) return;
      events.off(name, look);
      resolve(value);
    };
    events.on(name, look);
  });
}

export async function untilReady({ pool, events }: WatchedPool): Promise<void> {
  if (pool.availability !== 'ready') await eventThat<{ to: string }>(events, 'state', ({ to }) => to === 'ready');
}

/** An instant far enough away that no test reaches it. */
export const farAway = (): { deadlineAtMs: number } => ({ deadlineAtMs: performance.now() + 60_000 });
