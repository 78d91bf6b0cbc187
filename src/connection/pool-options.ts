import type { Server } from 'node:net';
import type { BackoffLimits } from '../limits/backoff.ts';
import type { CloseReason, ConnectionState } from './connection-state.ts';
import type { Deadlines } from './deadlines.ts';
import type { MayDial } from './guarded-lookup.ts';
import type { UnmatchedResponse } from './pending-requests.ts';
import type { SwitchProtocol } from './switch-protocol.ts';
import type { SwitchAddress, SwitchTls } from './switch-socket.ts';

export interface PoolLimits {
  /** Slots per connection: what the switch lets be under way on one line. */
  readonly inFlight: number;
  /** Callers that may wait for a slot. More than a few rounds of slots would outlive their own deadlines in the queue. */
  readonly waiting: number;
  /** A connection is full above it: a switch that does not read must not fill our memory. */
  readonly unsentBytes: number;
  /** Connections to each address. Switches allow few lines per acquirer. */
  readonly connectionsPerAddress: number;
}

export const DEFAULT_LIMITS: PoolLimits = {
  /** What most switches let be under way on a line without being asked; a profile says what its own does. */
  inFlight: 256,
  /** At 5,000 taps a second, less than a second of them. */
  waiting: 4_096,
  /** Several hundred messages: a switch so far behind is not reading, rather than slow. */
  unsentBytes: 262_144,
  connectionsPerAddress: 1,
};

/** Durations in milliseconds. */
export interface PoolTimeouts {
  /** From dialling to an open stream, TLS included. */
  readonly connectMs: number;
  /** For all of the sign-on step, and again for one exchange within it. */
  readonly signOnMs: number;
  /** An echo is sent after nothing was read for so long. */
  readonly idleEchoMs: number;
  readonly echoMs: number;
  /**
   * A connection that reads nothing for so long with requests in flight is suspect: an echo is sent, others are preferred. Where
   * answers have come faster, it is less (see suspicion.ts).
   */
  readonly suspectMs: number;
  /**
   * How long the echo of a suspect connection may take, where that is longer than `echoMs`: a switch that is slow answers it
   * behind the requests, so it has their deadline.
   */
  readonly suspectEchoMs: number;
  /** After a few deadlines in a row on a connection, others are preferred for so long. */
  readonly avoidMs: number;
  /** Without an echo to ask: a connection that reads nothing for so long with requests in flight is taken for dead. */
  readonly silenceMs: number;
  readonly signOffMs: number;
  /** A slot neither used nor released is taken back after so long, so that a caller's fault cannot eat the line. */
  readonly slotHoldMs: number;
  /** A connection ready for so long has proved its address: the next backoff begins anew. */
  readonly provenMs: number;
  readonly backoff: BackoffLimits;
}

export const DEFAULT_TIMEOUTS: PoolTimeouts = {
  /** Longer than any leased line takes, short enough to try the next round soon. */
  connectMs: 5_000,
  /** A switch that is starting answers slowly; one that takes longer is not there. */
  signOnMs: 10_000,
  /** Firewalls between us and a switch forget a silent connection after minutes; this is well below. */
  idleEchoMs: 60_000,
  echoMs: 10_000,
  /** Never: only the owner of a pool knows how soon its switch answers. */
  suspectMs: Number.POSITIVE_INFINITY,
  /** The default deadline of a profile. */
  suspectEchoMs: 30_000,
  /** Then one request tries it again: one lost tap in half a minute while it stays silent. */
  avoidMs: 30_000,
  /** Three deadlines of a usual profile: by then something would have been answered. */
  silenceMs: 120_000,
  /** A courtesy: stopping must not wait for a switch that is gone. */
  signOffMs: 2_000,
  /** A commit takes milliseconds; a caller that holds a slot longer than any deadline has lost it. */
  slotHoldMs: 60_000,
  /** Longer than a switch that accepts connections only to drop them lets one live. */
  provenMs: 10_000,
  /** The first retry is prompt. Tills stand still until the switch is back: they wait five seconds more at most, and few lines knock. */
  backoff: { firstMs: 200, mostMs: 5_000 },
};

/** The values given, and the defaults for those left out or undefined. */
export function overDefaults<Values extends object>(defaults: Values, given: Partial<Values> = {}): Values {
  const isGiven = ([, value]: [string, unknown]) => value !== undefined;
  return { ...defaults, ...Object.fromEntries(Object.entries(given).filter(isGiven)) };
}

/** Where log lines go; a pino logger is one. Fields are ids, counts and codes, never a part of a message. */
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

/** Lets a switch connect to us. The server belongs to the pool from then on: closing the pool closes it. */
export interface AcceptOptions {
  /** Listening, or about to; a `tls.Server` for TLS (see `listenForSwitch`). */
  readonly server: Server;
  /** The addresses that may connect; any may when absent. */
  readonly from?: readonly string[] | undefined;
  /** More are refused: a switch that reconnects without closing must not pile up sockets. */
  readonly maxConnections: number;
}

export interface PoolOptions<Message> {
  /** Stands in connection ids and log lines. */
  readonly name: string;
  readonly protocol: SwitchProtocol<Message>;
  /** Where to connect to, in order of preference; empty when the switch connects to us. */
  readonly addresses: readonly SwitchAddress[];
  /** `primary-backup` (default) prefers the first address with a ready connection, `least-in-flight` spreads over all. */
  readonly balance?: 'primary-backup' | 'least-in-flight' | undefined;
  readonly accept?: AcceptOptions | undefined;
  readonly tls?: SwitchTls | undefined;
  /** Asked for each address that is dialled, those of names included; all may be when absent. */
  readonly mayDial?: MayDial | undefined;
  readonly limits?: Partial<PoolLimits> | undefined;
  readonly timeouts?: Partial<PoolTimeouts> | undefined;
  readonly log: ConnectionLog;
  readonly onUnmatched?: ((unmatched: UnmatchedResponse<Message>) => void) | undefined;
  /** A connection came up, went down or drains. Filling up and having room again are not told. */
  readonly onStateChange?: ((change: StateChange) => void) | undefined;
  /** Default: deadlines of the pool's own, on the monotonic clock. */
  readonly deadlines?: Deadlines | undefined;
  /** From 0 to 1, for the jitter of backoffs. */
  readonly random?: (() => number) | undefined;
}
