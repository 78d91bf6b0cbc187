import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import { onTestFinished } from 'vitest';
import { TapwireError } from '../../src/basics/errors.ts';
import { FrameReader } from '../../src/codecs/iso8583/network/frame-reader.ts';
import type { Framing } from '../../src/codecs/iso8583/network/framing.ts';
import type { SwitchProtocol } from '../../src/codecs/iso8583/network/switch-protocol.ts';
import { Deadlines } from '../../src/switching/connection/deadlines.ts';
import type {
  RequestResult,
  RequestTimes,
  UnmatchedResponse,
} from '../../src/switching/connection/pending-requests.ts';
import { openPool, type Pool } from '../../src/switching/connection/pool.ts';
import type { ConnectionState, PoolOptions, StateChange } from '../../src/switching/connection/pool-types.ts';
import { frameOf } from '../support/frame-of.ts';
import { ManualClock } from './manual-clock.ts';

/** A minimal protocol for testing connections: `?key|text` requests, `!key|text` responds; the key may be omitted. */
export interface Note {
  readonly kind: '?' | '!';
  readonly key: string;
  readonly text: string;
}

export class UnreadableNote extends TapwireError {
  readonly partial: Note;

  constructor(partial: Note) {
    super('UNREADABLE_NOTE');
    this.partial = partial;
  }
}

export const ask = (key: string, text = ''): Note => ({ kind: '?', key, text });
export const responseTo = (key: string, text = ''): Note => ({ kind: '!', key, text });

export const framing: Framing = { lengthHeader: 'binary-2', maxFrameBytes: 65_535 };

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
  /** The number of notes that it has read. */
  notes = 0;
  readonly #framing: Framing;

  constructor(socket: net.Socket, spoken: Framing, onNote: (note: Note, peer: ToyPeer) => void) {
    this.socket = socket;
    this.#framing = spoken;
    const reader = new FrameReader(spoken, (bytes, start, end) => {
      this.notes++;
      onNote(decode(bytes, start, end), this);
    });
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

/** The reaction of a toy switch to a note; default: echo it. */
export type Behaviour = (note: Note, peer: ToyPeer) => void;

export const echoes: Behaviour = (note, peer) => peer.send(responseTo(note.key, note.text));
export const isSilent: Behaviour = () => {};

/** A switch that the test controls. Events: `peer` for each connection, `note` for each note read, with its peer. */
export class ToySwitch extends EventEmitter {
  readonly server: net.Server;
  readonly peers: ToyPeer[] = [];
  readonly notes: Note[] = [];
  behave: Behaviour;
  readonly #framing: Framing;

  constructor(
    behave: Behaviour = echoes,
    options: { framing?: Framing | undefined; server?: net.Server | undefined } = {},
  ) {
    super();
    this.behave = behave;
    this.#framing = options.framing ?? framing;
    this.server = options.server ?? net.createServer();
    onTestFinished(() => this.stop());
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

  /** The latest connection. */
  get peer(): ToyPeer {
    return this.peers.at(-1)!;
  }

  /** The gateway's side of a connection may be open before the switch has noticed. */
  async untilPeers(count: number): Promise<void> {
    while (this.peers.length < count) await eventThat(this, 'peer');
  }

  async stop(): Promise<void> {
    for (const peer of this.peers) peer.socket.destroy();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }
}

/** The pool gave no slot for the request in time. */
interface Refused {
  readonly kind: 'refused';
  readonly connectionId: undefined;
}

/** A pool and its events: `state`, `unmatched` and `log`. */
export class WatchedPool extends EventEmitter {
  readonly pool: Pool<Note>;
  readonly clock = new ManualClock();
  readonly unmatched: UnmatchedResponse<Note>[] = [];

  constructor(options: Partial<PoolOptions<Note>>) {
    super();
    const log = (fields: object, text: string) => this.emit('log', { ...fields, text });
    this.pool = openPool<Note>({
      name: 'toy',
      protocol: notes,
      addresses: [],
      log: { info: log, warn: log },
      onStateChange: (change) => this.emit('state', change),
      onUnmatched: (unmatched) => {
        this.unmatched.push(unmatched);
        this.emit('unmatched', unmatched);
      },
      deadlines: new Deadlines(this.clock),
      ...options,
    });
    onTestFinished(() => this.pool.destroy());
  }

  /** The deadline of a request with this timeout. */
  in(timeoutMs: number): { deadlineAtMs: number } {
    return { deadlineAtMs: this.clock.monotonicMs() + timeoutMs };
  }

  ask(key: string, text = ''): Promise<RequestResult<Note> | Refused> {
    return this.request(ask(key, text), this.in(40_000));
  }

  /** Takes a slot, or waits for one until the request must be sent, and sends the request on it. */
  async request(message: Note, times: RequestTimes): Promise<RequestResult<Note> | Refused> {
    const giveUpAtMs = Math.min(times.sendByAtMs ?? times.deadlineAtMs, times.deadlineAtMs);
    const slot = this.pool.takeSlot() ?? (await this.pool.waitForSlot({ giveUpAtMs }));
    return slot ? slot.request(message, times) : { kind: 'refused', connectionId: undefined };
  }

  /** The next change to the state. */
  async untilState(state: ConnectionState): Promise<StateChange> {
    return eventThat<StateChange>(this, 'state', ({ to }) => to === state);
  }

  async untilReady(): Promise<this> {
    if (this.pool.availability !== 'ready') await this.untilState('ready');
    return this;
  }
}

/** A switch with the given behaviour, and a pool whose connections to it are all ready, on both sides. */
export async function connect(
  behave: Behaviour = echoes,
  options: Partial<PoolOptions<Note>> = {},
): Promise<{ toy: ToySwitch; watched: WatchedPool; pool: Pool<Note> }> {
  const toy = new ToySwitch(behave, { framing: options.protocol?.framing });
  const watched = new WatchedPool({ addresses: [await toy.listen()], ...options });
  const connections = options.limits?.connectionsPerAddress ?? 1;
  while (watched.pool.stats.ready < connections) await eventThat(watched, 'state');
  await toy.untilPeers(connections);
  return { toy, watched, pool: watched.pool };
}

/** Waits for the first event that satisfies the test. */
export function eventThat<T>(
  events: EventEmitter,
  name: string,
  holds: (value: T) => boolean = () => true,
): Promise<T> {
  return new Promise((resolve) => {
    const look = (value: T): void => {
      if (!holds(value)) return;
      events.off(name, look);
      resolve(value);
    };
    events.on(name, look);
  });
}
