import type { Framing } from './framing.ts';

/**
 * All that a connection must know of the language a switch speaks. The pool never looks into a message: it asks.
 * Whatever these functions throw while a message from the switch is read makes that message a bad one, reported and
 * counted; the connection stays.
 */
export interface SwitchProtocol<Message> {
  readonly framing: Framing;

  /**
   * Writes the message into `target` from `offset` and gives the end offset. `target` has room for the longest frame;
   * anything longer must throw.
   */
  encode(message: Message, target: Uint8Array, offset: number): number;

  /** Reads the message in `bytes` from `start` to `end`. Nobody writes to `bytes` afterwards: views of it stay true. */
  decode(bytes: Uint8Array, start: number, end: number): Message;

  isResponse(message: Message): boolean;

  /** What pairs a request with its response. No two requests that are waiting at once have the same. */
  requestKey(request: Message): string;

  /** The key of the request that this response answers; undefined when it lacks a field of the key. */
  responseKey(response: Message): string | undefined;

  /** The key fields that the response lacks, by name. Asked only when `responseKey` gave undefined. */
  missingKeyFields?(response: Message): readonly string[];

  /**
   * Whether the fields that are there allow `response` to answer `request`. A response without a whole key is taken
   * for the one request of its own connection that it could answer; never when there are two.
   */
  couldAnswer?(response: Message, request: Message): boolean;

  /** What could be read of a message that `decode` refused with `error`, so that the request it answers need not wait. */
  salvage?(error: unknown): Message | undefined;

  /** Done before a connection is ready, again after `signOnAgain`: sign-on, and whatever the switch wants besides (keys). */
  readonly signOn?: SessionStep<Message> | undefined;
  /** Done when a connection has read nothing for a while. */
  readonly echo?: SessionStep<Message> | undefined;
  /** Done on a drained connection before it is closed. */
  readonly signOff?: SessionStep<Message> | undefined;

  /** A request of the switch (its echo, a cut-over, a key change). `reply` sends the answer on the same connection. */
  onRequest?(
    request: Message,
    reply: (response: Message) => void,
    line: ProtocolConnection<Message>,
  ): void | Promise<void>;
}

/** One connection as the protocol sees it. */
export interface ProtocolConnection<Message> {
  readonly connectionId: string;
  /**
   * Sends a request and gives its response, whatever the connection's state and however full it is.
   * @throws ConnectionError EXCHANGE_FAILED when none comes in time, DUPLICATE_KEY
   */
  exchange(request: Message): Promise<Message>;
  /** Takes the connection out of use until sign-on has succeeded once more; what is in flight is still answered. */
  signOnAgain(): void;
}

/** A step of a session; true when the switch accepted it. Anything else, an exception included, closes the connection. */
export type SessionStep<Message> = (line: ProtocolConnection<Message>) => Promise<boolean>;
