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
