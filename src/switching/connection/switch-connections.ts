import { randomUUID } from 'node:crypto';
import { LogBudget } from '../../basics/limits/log-budget.ts';
import { Acceptor } from './acceptor.ts';
import { Connection, type ConnectionContext, type ConnectionEvents } from './connection.ts';
import { ConnectionLists, Redialer } from './connection-lists.ts';
import { Alarm, type Deadlines } from './deadlines.ts';
import { Inbox } from './inbox.ts';
import type { PendingRequests } from './pending-requests.ts';
import type { PoolCounters } from './pool-stats.ts';
import type { CloseReason, ConnectionState, PoolLimits, PoolOptions, PoolTimeouts } from './pool-types.ts';
import { Session } from './session.ts';
import { dialSwitch, type SwitchAddress, type SwitchSocket } from './switch-socket.ts';

/**
 * Logs a stop of many connections in a second completely, but not every attempt of a switch that connects only to
 * disconnect.
 */
const LINES_PER_SECOND = 100;

/** Resources of one open connection. */
interface Upkeep<Message> {
  readonly session: Session<Message>;
  /** Absent if the switch connected to the gateway. */
  readonly redialer: Redialer<Message> | undefined;
  /** Ends a connection that does not open in time. */
  readonly connectAlarm: Alarm;
  readyAtMs: number | undefined;
}

/** One connection at one moment, for people. */
export interface ConnectionSummary {
  readonly id: string;
  /** `host:port` of the peer. */
  readonly address: string;
  readonly state: ConnectionState;
  /** Slots held and requests in flight. */
  readonly load: number;
  /** Signed off by a person: it stays down until a person signs it on. */
  readonly isHeld: boolean;
}

/**
 * The connections to one switch. It dials and accepts, signs on, dials lost connections again, and keeps every
 * connection in the list of its state. Only `#move` changes a state.
 */
export class SwitchConnections<Message> implements ConnectionEvents<Message> {
  readonly lists = new ConnectionLists<Message>();
  readonly #options: PoolOptions<Message>;
  readonly #parts;
  readonly #context: ConnectionContext<Message>;
  readonly #upkeep = new Map<Connection<Message>, Upkeep<Message>>();
  readonly #redialers: Redialer<Message>[] = [];
  #acceptor: Acceptor | undefined;
  /** Distinguishes connections of this process from those of another process or of an earlier start. */
  readonly #idPrefix: string;
  #connectionCount = 0;
  readonly #budget = new LogBudget(LINES_PER_SECOND);
  #isClosing = false;
  readonly #allClosed = Promise.withResolvers<void>();

  constructor(
    options: PoolOptions<Message>,
    parts: {
      readonly deadlines: Deadlines;
      readonly pending: PendingRequests<Message>;
      readonly counters: PoolCounters;
      readonly limits: PoolLimits;
      readonly timeouts: PoolTimeouts;
      /** Called when a ready connection has room. */
      readonly onRoom: (connection: Connection<Message>) => void;
      readonly onLost: (connection: Connection<Message>) => void;
    },
  ) {
    this.#options = options;
    this.#parts = parts;
    this.#idPrefix = `${options.name}-${randomUUID().slice(0, 8)}`;
    const { pending, counters, deadlines, limits } = parts;
    const connectionOf = (connection: Connection<Message>) => this.#upkeep.get(connection)?.session;
    const inbox = new Inbox(options, { pending, counters, deadlines, connectionOf });
    this.#context = { protocol: options.protocol, deadlines, pending, limits, events: this, inbox };
  }

  open(): void {
    const isSpread = this.#options.balance === 'least-in-flight';
    for (const [index, address] of this.#options.addresses.entries()) {
      for (let i = 0; i < this.#parts.limits.connectionsPerAddress; i++)
        this.#keepDialled(address, isSpread ? 0 : index);
    }
    if (this.#options.accept) {
      const add = (socket: SwitchSocket, address: string) => this.#add(socket, { address, rank: 0 }, undefined);
      this.#acceptor = new Acceptor(this.#options.accept, add, ({ code }) => {
        this.#log('warn', { code }, 'connection from the switch could not be accepted');
      });
    }
  }

  /** Takes room on the connection if there is any. */
  take(connection: Connection<Message>): boolean {
    if (connection.state !== 'ready') return false;
    connection.load++;
    this.#place(connection);
    return true;
  }

  release(connection: Connection<Message>): void {
    connection.load--;
    this.#updateAfterEnd(connection);
  }

  /** Lets requests in flight finish, signs off, and ends every connection. Resolves when all have ended. */
  drain(): Promise<void> {
    this.#stopOpening();
    for (const connection of this.lists.open()) {
      const wasSignedOn = connection.isUsable || connection.load > 0;
      if (wasSignedOn) this.#drainOne(connection);
      else connection.destroy({ cause: 'drained' });
    }
    this.#resolveWhenClosed();
    return this.#allClosed.promise;
  }

  destroy(): void {
    this.#stopOpening();
    for (const connection of this.lists.open()) connection.destroy({ cause: 'destroyed' });
    this.#resolveWhenClosed();
  }

  /** Signs on again without ending the connection. */
  signOnAgain(connection: Connection<Message>): void {
    this.#upkeep.get(connection)?.session.signOnAgain();
  }

  /** Lets requests in flight finish, signs off, ends the connection and does not replace it until `signOn`. */
  signOff(connectionId: string): boolean {
    const connection = this.#find(connectionId);
    if (!connection || this.#isClosing) return false;
    this.#redialerOf(connection)?.hold();
    if (connection.isUsable || connection.load > 0) this.#drainOne(connection);
    else connection.destroy({ cause: 'drained' });
    return true;
  }

  /** Dials a connection that was signed off; an open one signs on again. */
  signOn(connectionId: string): boolean {
    const connection = this.#find(connectionId);
    if (!connection || this.#isClosing) return false;
    if (this.#redialerOf(connection)?.isHeld) this.#redialerOf(connection)!.release();
    else this.signOnAgain(connection);
    return true;
  }

  /** The state of each connection, including those that are down. */
  get states(): ConnectionSummary[] {
    return [...this.lists.open(), ...this.lists.down].map((connection) => {
      const { id, address, state, load } = connection;
      return { id, address, state, load, isHeld: this.#redialerOf(connection)?.isHeld ?? false };
    });
  }

  #find(connectionId: string): Connection<Message> | undefined {
    return this.lists.find(connectionId) ?? [...this.lists.down].find(({ id }) => id === connectionId);
  }

  #redialerOf(connection: Connection<Message>): Redialer<Message> | undefined {
    return this.#redialers.find((redialer) => redialer.keeps(connection));
  }

  onConnected(connection: Connection<Message>): void {
    const upkeep = this.#upkeep.get(connection)!;
    this.#parts.deadlines.cancel(upkeep.connectAlarm);
    void upkeep.session.open();
  }

  onAsked(connection: Connection<Message>): void {
    this.#upkeep.get(connection)?.session.noteAsked();
  }

  onRoomChange(connection: Connection<Message>): void {
    this.#updateAfterEnd(connection);
  }

  onClosed(connection: Connection<Message>, reason: CloseReason): void {
    const { deadlines, pending, counters, timeouts } = this.#parts;
    const { session, redialer, connectAlarm, readyAtMs } = this.#upkeep.get(connection)!;
    const monotonicMs = deadlines.monotonicMs();
    this.#upkeep.delete(connection);
    session.stop();
    deadlines.cancel(connectAlarm);
    if (reason.cause === 'badFrame') counters.badFrames++;
    this.#move(connection, 'down', reason);
    pending.giveUpAll(connection, reason.cause === 'destroyed' ? 'closed' : 'connectionLost', monotonicMs);
    if (!redialer || this.#isClosing) this.lists.remove(connection);
    else redialer.redialLater(readyAtMs !== undefined && monotonicMs - readyAtMs >= timeouts.provenMs);
    this.#parts.onLost(connection);
    this.#resolveWhenClosed();
  }

  #keepDialled(address: SwitchAddress, rank: number): void {
    const label = `${address.host}:${address.port}`;
    const { deadlines, timeouts, counters } = this.#parts;
    const dial = (previous: Connection<Message> | undefined): Connection<Message> => {
      if (previous) {
        this.lists.remove(previous);
        counters.reconnects++;
      }
      return this.#add(
        dialSwitch(address, this.#options.tls, this.#options.mayDial),
        { address: label, rank },
        redialer,
      );
    };
    const backoff = { limits: timeouts.backoff, random: this.#options.random ?? Math.random };
    const redialer = new Redialer(dial, deadlines, backoff);
    this.#redialers.push(redialer);
    redialer.dial();
  }

  #add(
    socket: SwitchSocket,
    place: { readonly address: string; readonly rank: number },
    redialer: Redialer<Message> | undefined,
  ): Connection<Message> {
    const { deadlines, timeouts } = this.#parts;
    const connection = new Connection(
      { id: `${this.#idPrefix}-${++this.#connectionCount}`, ...place },
      socket,
      this.#context,
    );
    const session = new Session(connection, {
      protocol: this.#options.protocol,
      timeouts,
      deadlines,
      onSuspend: () => this.#suspend(connection),
      onSignedOn: () => this.#becomeReady(connection),
      onSilence: (isSilent) => {
        const { id: connectionId, address: where } = connection;
        const text = isSilent ? 'connection is silent, others are preferred' : 'silent connection has responded';
        this.#log('info', { connectionId, address: where }, text); // a single request without a response is enough for this
      },
    });
    const connectAlarm = new Alarm(() => connection.destroy({ cause: 'connectTimeout' }));
    deadlines.schedule(connectAlarm, deadlines.monotonicMs() + timeouts.connectMs);
    this.#upkeep.set(connection, { session, redialer, connectAlarm, readyAtMs: undefined });
    this.lists.add(connection);
    return connection;
  }

  #becomeReady(connection: Connection<Message>): void {
    if (connection.state !== 'connecting') return;
    const upkeep = this.#upkeep.get(connection)!;
    if (upkeep.readyAtMs === undefined) {
      upkeep.readyAtMs = this.#parts.deadlines.monotonicMs();
      this.#parts.counters.signOns++;
    }
    this.#move(connection, 'ready');
    this.#updateAfterEnd(connection);
  }

  #suspend(connection: Connection<Message>): boolean {
    if (connection.state !== 'ready' && connection.state !== 'full') return false;
    this.#move(connection, 'connecting');
    return true;
  }

  #drainOne(connection: Connection<Message>): void {
    this.#move(connection, 'draining');
    this.#updateAfterEnd(connection);
  }

  /** After something ended: moves the connection to the state of its load, and offers its room to waiting callers. */
  #updateAfterEnd(connection: Connection<Message>): void {
    this.#place(connection);
    if (connection.state === 'ready') this.#parts.onRoom(connection);
    if (connection.state === 'draining' && connection.load === 0) void this.#upkeep.get(connection)?.session.close();
  }

  #place(connection: Connection<Message>): void {
    if (connection.state !== 'ready' && connection.state !== 'full') return;
    const { limits } = this.#parts;
    const hasRoom = connection.load < limits.inFlight && connection.unsentBytes < limits.unsentBytes;
    const state = hasRoom ? 'ready' : 'full';
    if (connection.state !== state) this.#move(connection, state);
  }

  #move(connection: Connection<Message>, to: ConnectionState, reason?: CloseReason): void {
    const from = connection.state;
    this.lists.move(connection, to);
    if ((from === 'ready' && to === 'full') || (from === 'full' && to === 'ready')) return;
    const change = { connectionId: connection.id, address: connection.address, from, to, reason };
    this.#log('info', change, 'connection state changed');
    this.#options.onStateChange?.(change);
  }

  #log(level: 'info' | 'warn', fields: object, text: string): void {
    this.#budget.spend(this.#parts.deadlines.monotonicMs(), (suppressed) => {
      this.#options.log[level]({ ...fields, ...(suppressed > 0 && { suppressed }) }, text);
    });
  }

  #stopOpening(): void {
    this.#isClosing = true;
    this.#acceptor?.close();
    for (const redialer of this.#redialers) redialer.stop();
  }

  #resolveWhenClosed(): void {
    if (this.#isClosing && this.#upkeep.size === 0) this.#allClosed.resolve();
  }
}
