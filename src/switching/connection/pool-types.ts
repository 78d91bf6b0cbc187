import type { Server } from 'node:net';
import type { BackoffLimits } from '../../basics/limits/waits.ts';
import type { SwitchProtocol } from '../../codecs/iso8583/network/switch-protocol.ts';
import type { MayDial } from '../../outbound/switch-lookup.ts';
import type { Deadlines } from './deadlines.ts';
import type { UnmatchedResponse } from './pending-requests.ts';
import type { SwitchAddress, SwitchTls } from './switch-socket.ts';

export interface PoolLimits {
  /** Slots per connection: the number of requests that the switch allows in flight on one connection. */
  readonly inFlight: number;
  /** Callers that may wait for a slot. More than a few rounds of slots would reach their deadlines in the queue. */
  readonly waiting: number;
  /**
   * A connection with more unsent bytes is full: a switch that does not read must not fill the memory of this
   * process.
   */
  readonly unsentBytes: number;
  /** Connections to each address. Switches allow few connections per acquirer. */
  readonly connectionsPerAddress: number;
}

export const DEFAULT_LIMITS: PoolLimits = {
  /** Most switches allow this many without an agreement; a profile sets the number of its own switch. */
  inFlight: 256,
  /** Less than a second of traffic at 5,000 taps a second. */
  waiting: 4_096,
  /** Several hundred messages: a switch that is so far behind does not read at all. */
  unsentBytes: 262_144,
  connectionsPerAddress: 1,
};

/** Durations in milliseconds. */
export interface PoolTimeouts {
  /** Limit from dialling to an open stream, including TLS. */
  readonly connectMs: number;
  /** Limit of the whole sign-on step, and of each exchange in it. */
  readonly signOnMs: number;
  /** An echo is sent if nothing was read for this long. */
  readonly idleEchoMs: number;
  readonly echoMs: number;
  /**
   * If a connection has requests in flight and reads nothing for this long, it is suspect: an echo is sent, and other
   * connections are preferred. The time is shorter if responses were faster recently (see session.ts).
   */
  readonly suspectMs: number;
  /**
   * Limit of the echo on a suspect connection if it is longer than `echoMs`: a slow switch responds to the echo after
   * the requests, so the echo has their deadline.
   */
  readonly suspectEchoMs: number;
  /** After a few consecutive missed deadlines on a connection, others are preferred for this long. */
  readonly avoidMs: number;
  /**
   * For a switch without echo: a connection with requests in flight that reads nothing for this long is considered
   * dead.
   */
  readonly silenceMs: number;
  readonly signOffMs: number;
  /**
   * A slot that is neither used nor released is reclaimed after this time, so that a caller's fault cannot block the
   * connection.
   */
  readonly slotHoldMs: number;
  /** A connection that was ready for this long has proved its address: the next backoff starts at its first value. */
  readonly provenMs: number;
  readonly backoff: BackoffLimits;
}

export const DEFAULT_TIMEOUTS: PoolTimeouts = {
  /** Longer than any leased line takes, and short enough to try the next address soon. */
  connectMs: 5_000,
  /** A switch that is starting responds slowly; one that takes longer is unavailable. */
  signOnMs: 10_000,
  /** Firewalls on the way to a switch drop a silent connection after minutes; this is well below. */
  idleEchoMs: 60_000,
  echoMs: 10_000,
  /** No default limit: only the owner of a pool knows how soon its switch responds. */
  suspectMs: Number.POSITIVE_INFINITY,
  /** The default deadline of a profile. */
  suspectEchoMs: 30_000,
  /** After half a minute one request tries a silent connection again, so at most one tap per half a minute is lost. */
  avoidMs: 30_000,
  /** Three deadlines of a typical profile: by then there would have been a response. */
  silenceMs: 120_000,
  /** Sign-off is a courtesy: a stop must not wait for an unavailable switch. */
  signOffMs: 2_000,
  /** A commit takes milliseconds. A caller that holds a slot longer than any deadline has lost it. */
  slotHoldMs: 60_000,
  /** Longer than the connections of a switch that accepts them only to drop them. */
  provenMs: 10_000,
  /**
   * The first retry is prompt. Tills cannot pay until the switch is back: they wait at most five seconds more, and
   * few connections are attempted.
   */
  backoff: { firstMs: 200, mostMs: 5_000 },
};

/** Returns the values given, and the defaults for those that are missing or undefined. */
export function overDefaults<Values extends object>(defaults: Values, given: Partial<Values> = {}): Values {
  const isGiven = ([, value]: [string, unknown]) => value !== undefined;
  return { ...defaults, ...Object.fromEntries(Object.entries(given).filter(isGiven)) };
}

/** Receiver of log lines, for example a pino logger. Fields are ids, counts and codes, never a part of a message. */
export interface ConnectionLog {
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

export interface StateChange {
  readonly connectionId: string;
  readonly address: string;
  readonly from: ConnectionState;
  readonly to: ConnectionState;
  /** Why a connection went down. */
  readonly reason?: CloseReason | undefined;
}

/** Lets a switch connect to the gateway. The pool then owns the server: closing the pool closes it. */
export interface AcceptOptions {
  /** Listening, or about to listen; a `tls.Server` for TLS (see `listenForSwitch`). */
  readonly server: Server;
  /** The addresses that may connect; any address if absent. */
  readonly from?: readonly string[] | undefined;
  /** Further connections are refused: a switch that reconnects without closing must not accumulate sockets. */
  readonly maxConnections: number;
}

export interface PoolOptions<Message> {
  /** Part of connection ids and log lines. */
  readonly name: string;
  readonly protocol: SwitchProtocol<Message>;
  /** Addresses of the switch in order of preference; empty if the switch connects to the gateway. */
  readonly addresses: readonly SwitchAddress[];
  /**
   * `primary-backup` (default) prefers the first address with a ready connection; `least-in-flight` distributes over
   * all.
   */
  readonly balance?: 'primary-backup' | 'least-in-flight' | undefined;
  readonly accept?: AcceptOptions | undefined;
  readonly tls?: SwitchTls | undefined;
  /**
   * Called for each address before it is dialled, including those that names resolve to; all are allowed if absent.
   */
  readonly mayDial?: MayDial | undefined;
  readonly limits?: Partial<PoolLimits> | undefined;
  readonly timeouts?: Partial<PoolTimeouts> | undefined;
  readonly log: ConnectionLog;
  readonly onUnmatched?: ((unmatched: UnmatchedResponse<Message>) => void) | undefined;
  /** Called when a connection comes up, goes down or drains. Changes between ready and full are not reported. */
  readonly onStateChange?: ((change: StateChange) => void) | undefined;
  /** By default, the pool's own deadlines on the monotonic clock. */
  readonly deadlines?: Deadlines | undefined;
  /** Returns numbers from 0 to 1, for the jitter of backoffs. */
  readonly random?: (() => number) | undefined;
}

/** Why a connection ended. */
export type CloseCause =
  /** The socket failed: `detail` is the code of the system or of TLS (`ECONNREFUSED`). */
  | 'socketError'
  /** The switch closed it. */
  | 'peerClosed'
  | 'connectTimeout'
  | 'signOnFailed'
  | 'echoFailed'
  /** Requests were in flight, and nothing was read for too long. */
  | 'silence'
  /** The stream became unreadable: `detail` is the error's code. */
  | 'badFrame'
  /** A deadline passed while bytes of its request were unsent. They must not reach the switch after the reversal. */
  | 'unsentAtDeadline'
  /** The switch sends requests and does not read the responses. */
  | 'repliesUnread'
  | 'drained'
  | 'destroyed';

export interface CloseReason {
  readonly cause: CloseCause;
  readonly detail?: string | undefined;
}

/** The lists of a pool; a connection is always in exactly one. */
export type ConnectionState = 'connecting' | 'ready' | 'full' | 'draining' | 'down';
