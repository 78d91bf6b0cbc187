import type { Framing } from './framing.ts';

/**
 * Everything that a connection needs to know of a switch's dialect. The pool never reads a message itself; it calls
 * these functions. If one of them throws while a message from the switch is read, the message is reported and counted
 * as bad, and the connection stays open.
 */
export interface SwitchProtocol<Message> {
  readonly framing: Framing;

  /**
   * Writes the message into `target` from `offset` and returns the end offset. `target` has room for the longest
   * frame; a longer message must throw.
   */
  encode(message: Message, target: Uint8Array, offset: number): number;

  /**
   * Reads the message in `bytes` from `start` to `end`. `bytes` does not change afterwards, so views of it stay
   * valid.
   */
  decode(bytes: Uint8Array, start: number, end: number): Message;

  isResponse(message: Message): boolean;

  /** The key that pairs a request with its response. Two requests in flight never have the same key. */
  requestKey(request: Message): string;

  /** The key of the request that this response belongs to; undefined if it lacks a field of the key. */
  responseKey(response: Message): string | undefined;

  /** The key fields that the response lacks, by name. Called only after `responseKey` returned undefined. */
  missingKeyFields?(response: Message): readonly string[];

  /**
   * Whether the fields that are present allow that `response` belongs to `request`. A response without a whole key is
   * matched to the only request of its connection to which it could belong, and to none if there are two.
   */
  couldMatch?(response: Message, request: Message): boolean;

  /** The readable part of a message that `decode` refused with `error`, so that its request need not wait. */
  salvage?(error: unknown): Message | undefined;

  /**
   * What a log may state about a message that `decode` refused with `error`, besides the code: where it went wrong, and the
   * request to which it belongs. Nothing from the message itself, whose values may be parts of others.
   */
  faultFields?(error: unknown, request: Message | undefined): Readonly<Record<string, unknown>>;

  /**
   * Runs before a connection is ready, and again after `signOnAgain`: sign-on, and what else the switch requires
   * (keys).
   */
  readonly signOn?: SessionStep<Message> | undefined;
  /**
   * Runs when a connection has read nothing for a while. If it throws ConnectionError NOT_SENT, the connection remains open
   * and the step runs again later.
   */
  readonly echo?: SessionStep<Message> | undefined;
  /** Runs on a drained connection before it is closed. */
  readonly signOff?: SessionStep<Message> | undefined;

  /**
   * Handles a request of the switch (an echo, a cut-over, a key change). `reply` sends the response on the same
   * connection.
   */
  onRequest?(
    request: Message,
    reply: (response: Message) => void,
    connection: ProtocolConnection<Message>,
  ): void | Promise<void>;
}

/** One connection as a step of its session sees it. */
export interface SessionConnection<Message> {
  readonly connectionId: string;
  /**
   * Sends a request and returns its response, in any state of the connection and at any load.
   * @throws ConnectionError EXCHANGE_FAILED if no response comes in time, DUPLICATE_KEY
   */
  exchange(request: Message): Promise<Message>;
}

/** One connection as a request of the switch may affect it. */
export interface ProtocolConnection<Message> extends SessionConnection<Message> {
  /** Takes the connection out of use until it has signed on again. Requests in flight still receive a response. */
  signOnAgain(): void;
}

/**
 * A step of a session; true if the switch accepted it. Any other result, including an exception, closes the
 * connection. A text is the code with which the switch refused, for the log.
 */
export type SessionStep<Message> = (connection: SessionConnection<Message>) => Promise<boolean | string>;
