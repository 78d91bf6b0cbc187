import type { Socket } from 'node:net';
import { ConnectionError } from '../../basics/errors.ts';
import { FrameReader } from '../../codecs/iso8583/network/frame-reader.ts';
import { replyHeaderOf } from '../../codecs/iso8583/network/framing.ts';
import type { SwitchProtocol } from '../../codecs/iso8583/network/switch-protocol.ts';
import type { Deadlines } from './deadlines.ts';
import { type OutgoingFrame, OutgoingFrames } from './outgoing-frames.ts';
import { type Carrier, PendingRequest, type PendingRequests, type RequestResult } from './pending-requests.ts';
import type { CloseReason, ConnectionState, PoolLimits } from './pool-types.ts';
import type { SwitchSocket } from './switch-socket.ts';

/** Events of a connection for its owner. */
export interface ConnectionEvents<Message> {
  onConnected(connection: Connection<Message>): void;
  /** The socket wrote waiting bytes, or accepts no further ones. */
  onRoomChange(connection: Connection<Message>): void;
  /** A request was written, the first since a frame was read. */
  onAsked(connection: Connection<Message>): void;
  onClosed(connection: Connection<Message>, reason: CloseReason): void;
}

/** Messages and errors that a connection reads. */
export interface MessageEvents<Message> {
  onResponse(connection: Connection<Message>, response: Message, monotonicMs: number): void;
  onRequest(connection: Connection<Message>, request: Message, reply: (response: Message) => void): void;
  onBadMessage(connection: Connection<Message>, error: unknown, monotonicMs: number): void;
}

/** Dependencies that the connections of a pool share. */
export interface ConnectionContext<Message> {
  readonly protocol: SwitchProtocol<Message>;
  readonly deadlines: Deadlines;
  readonly pending: PendingRequests<Message>;
  readonly limits: PoolLimits;
  readonly events: ConnectionEvents<Message>;
  readonly inbox: MessageEvents<Message>;
}

/**
 * One socket to a switch, from its opening to its end. It reads and writes bytes and messages. The pool and the
 * session handle other connections, sign-on and slots.
 */
export class Connection<Message> implements Carrier<Message> {
  readonly id: string;
  /** `host:port` of the peer. */
  readonly address: string;
  /** Connections of a lower rank are preferred. */
  readonly rank: number;
  /** The list of the pool that contains it. Only the pool's `move` writes it. */
  state: ConnectionState = 'connecting';
  /** Slots held and requests in flight. */
  load = 0;
  /** When the last complete frame was read, or the connection opened. */
  lastReadAtMs: number;
  /** When the first request after the last complete frame was written. */
  silentSinceAtMs: number | undefined = undefined;
  /**
   * Consecutive requests without a response at their deadline, and when the last one was given up. The pool writes
   * these.
   */
  timeoutsInARow = 0;
  lastTimeoutAtMs = Number.NEGATIVE_INFINITY;
  /** Recent response time; undefined before the first response. */
  typicalRoundTripMs: number | undefined = undefined;
  readonly #context: ConnectionContext<Message>;
  readonly #socket: SwitchSocket;
  readonly #reader: FrameReader;
  readonly #outgoing: OutgoingFrames<Message>;
  #readAtMs = 0;
  #isFlushScheduled = false;
  /** Whether the data to be written contains a request, because only a request needs a response. */
  #asks = false;
  #isClosed = false;

  constructor(
    identity: { readonly id: string; readonly address: string; readonly rank: number },
    socket: SwitchSocket,
    context: ConnectionContext<Message>,
  ) {
    this.id = identity.id;
    this.address = identity.address;
    this.rank = identity.rank;
    this.#context = context;
    this.#socket = socket;
    this.lastReadAtMs = context.deadlines.monotonicMs();
    this.#reader = new FrameReader(context.protocol.framing, this.#onFrame);
    this.#outgoing = new OutgoingFrames(context.protocol, this.#writeBytes, this.#onRefused);
    this.#listen(socket.stream);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether a request with a slot on this connection may be written. */
  get isUsable(): boolean {
    return this.state === 'ready' || this.state === 'full' || this.state === 'draining';
  }

  /** Bytes that wait in this process because the switch does not read. */
  get unsentBytes(): number {
    return this.#socket.stream.writableLength;
  }

  /**
   * Registers the request, starts its deadline and encodes it. It is written at the end of this tick.
   * @throws ConnectionError DUPLICATE_KEY, MESSAGE_LENGTH, or what `encode` throws: the request is then not pending
   */
  send(pending: PendingRequest<Message>): void {
    this.#context.pending.add(pending);
    try {
      this.#append(pending.request, pending);
      this.#asks = true;
    } catch (error) {
      this.#context.pending.remove(pending);
      throw error;
    }
  }

  /** Sends a request of the session, which needs no slot. */
  exchange(request: Message, timeoutMs: number): Promise<RequestResult<Message>> {
    return new Promise((resolve) => {
      if (this.#isClosed) {
        resolve({ kind: 'failed', written: false, reason: 'connectionLost', connectionId: this.id });
        return;
      }
      const deadlineAtMs = this.#context.deadlines.monotonicMs() + timeoutMs;
      const key = this.#context.protocol.requestKey(request);
      this.send(new PendingRequest(key, request, this, { deadlineAtMs }, resolve));
    });
  }

  /**
   * If bytes of a request may be unsent at its deadline, the connection ends, because nothing may reach the switch
   * after the reversal.
   */
  expire(pending: PendingRequest<Message>): void {
    const isUnsent = this.#outgoing.isUnsent(pending);
    this.#context.pending.giveUp(pending, 'deadline', this.#context.deadlines.monotonicMs());
    if (isUnsent) this.destroy({ cause: 'unsentAtDeadline' });
  }

  /**
   * Ends the connection at once. Its requests are given up, and bytes that have not reached the switch are never
   * sent.
   */
  destroy(reason: CloseReason): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reader.stop();
    if (reason.cause === 'drained') this.#socket.end();
    else this.#socket.destroy();
    this.#context.events.onClosed(this, reason);
  }

  #listen(stream: Socket): void {
    stream.on('data', this.#onData);
    stream.on('error', (error: NodeJS.ErrnoException) => {
      this.destroy({ cause: 'socketError', detail: error.code ?? error.name });
    });
    stream.on('end', () => this.destroy({ cause: 'peerClosed' }));
    stream.on('close', () => this.destroy({ cause: 'peerClosed' }));
    this.#socket.whenOpen(() => {
      if (this.#isClosed) return;
      this.lastReadAtMs = this.#context.deadlines.monotonicMs();
      this.#context.events.onConnected(this);
    });
  }

  #append(message: Message, frame: OutgoingFrame, header?: Uint8Array): void {
    this.#outgoing.append(message, frame, this.#nowMs, header);
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    process.nextTick(this.#flush);
  }

  readonly #nowMs = (): number => this.#context.deadlines.monotonicMs();

  readonly #flush = (): void => {
    this.#isFlushScheduled = false;
    if (!this.#isClosed) this.#outgoing.flush(this.#nowMs());
  };

  readonly #writeBytes = (bytes: Uint8Array, onWritten: () => void): void => {
    const { stream } = this.#socket;
    if (this.#asks && this.silentSinceAtMs === undefined) {
      this.silentSinceAtMs = this.#nowMs();
      this.#context.events.onAsked(this);
    }
    this.#asks = false;
    stream.write(bytes, (error) => {
      if (error) return;
      onWritten();
      if (this.state === 'full' && !this.#isClosed) this.#context.events.onRoomChange(this);
    });
    if (stream.writableLength >= this.#context.limits.unsentBytes) this.#context.events.onRoomChange(this);
  };

  readonly #onRefused = (frame: OutgoingFrame): void => {
    if (!(frame instanceof PendingRequest)) return;
    const monotonicMs = this.#nowMs();
    this.#context.pending.giveUp(frame, monotonicMs > frame.deadlineAtMs ? 'deadline' : 'sendBy', monotonicMs);
  };

  readonly #onData = (chunk: Uint8Array): void => {
    this.#readAtMs = this.#nowMs();
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      this.destroy({ cause: 'badFrame', detail: error.code });
    }
  };

  readonly #onFrame = (bytes: Uint8Array, start: number, end: number): void => {
    const { protocol, inbox } = this.#context;
    this.lastReadAtMs = this.#readAtMs;
    this.silentSinceAtMs = undefined;
    try {
      const message = protocol.decode(bytes, start, end);
      if (protocol.isResponse(message)) inbox.onResponse(this, message, this.#readAtMs);
      else inbox.onRequest(this, message, this.#replier(bytes, start));
    } catch (error) {
      inbox.onBadMessage(this, error, this.#readAtMs);
    }
  };

  #replier(bytes: Uint8Array, messageStart: number): (response: Message) => void {
    const header = replyHeaderOf(this.#context.protocol.framing, bytes, messageStart);
    return (response) => {
      if (this.#isClosed) return;
      if (this.unsentBytes >= this.#context.limits.unsentBytes) return this.destroy({ cause: 'repliesUnread' });
      this.#append(response, { sendByAtMs: Number.POSITIVE_INFINITY, writtenAtMs: -1, batch: 0 }, header);
    };
  }
}
