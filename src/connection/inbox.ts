import { TapwireError } from '../errors.ts';
import type { Connection, MessageEvents } from './connection.ts';
import type { PendingRequests, UnmatchedResponse } from './pending-requests.ts';
import type { PoolOptions } from './pool-options.ts';
import type { PoolCounters } from './pool-stats.ts';
import type { Line } from './switch-protocol.ts';

/**
 * Where every message from the switch arrives: responses find their requests, or are reported for what they are;
 * requests are handed to the protocol; what cannot be read is counted and reported without a byte of it.
 */
export class Inbox<Message> implements MessageEvents<Message> {
  readonly #options: PoolOptions<Message>;
  readonly #pending: PendingRequests<Message>;
  readonly #counters: PoolCounters;
  readonly #lineOf: (connection: Connection<Message>) => Line<Message> | undefined;

  constructor(
    options: PoolOptions<Message>,
    parts: {
      readonly pending: PendingRequests<Message>;
      readonly counters: PoolCounters;
      readonly lineOf: (connection: Connection<Message>) => Line<Message> | undefined;
    },
  ) {
    this.#options = options;
    this.#pending = parts.pending;
    this.#counters = parts.counters;
    this.#lineOf = parts.lineOf;
  }

  onResponse(connection: Connection<Message>, response: Message, nowMs: number): void {
    const { pending, key, missing } = this.#pending.match(response, connection);
    if (!pending) {
      const unmatched = { ...this.#pending.lookBack(key, nowMs), response, connectionId: connection.id, missing };
      this.#reportUnmatched(unmatched);
      return;
    }
    this.#counters.answered++;
    this.#counters.roundTrips.record(this.#pending.answer(pending, response, missing, nowMs));
  }

  onRequest(connection: Connection<Message>, request: Message, reply: (response: Message) => void): void {
    const line = this.#lineOf(connection);
    const { onRequest } = this.#options.protocol;
    if (!line || !onRequest) return;
    const answered = (async () => onRequest.call(this.#options.protocol, request, reply, line))();
    answered.catch((error) => this.#reportBadMessage(connection, error));
  }

  onBadMessage(connection: Connection<Message>, error: unknown, nowMs: number): void {
    this.#reportBadMessage(connection, error);
    const response = this.#salvage(error);
    if (response === undefined) return;
    const { pending } = this.#pending.match(response, connection);
    if (pending) this.#pending.answerUnreadable(pending, error, nowMs);
  }

  /** A message read in part may be as broken as the whole; then nothing is known of it. */
  #salvage(error: unknown): Message | undefined {
    const { protocol } = this.#options;
    try {
      const message = protocol.salvage?.(error);
      return message !== undefined && protocol.isResponse(message) ? message : undefined;
    } catch {
      return undefined;
    }
  }

  #reportBadMessage(connection: Connection<Message>, error: unknown): void {
    this.#counters.badMessages++;
    const code = error instanceof TapwireError ? error.code : error instanceof Error ? error.name : 'unknown';
    this.#options.log.warn({ connectionId: connection.id, code }, 'a message from the switch could not be handled');
  }

  #reportUnmatched(unmatched: UnmatchedResponse<Message>): void {
    const { kind, connectionId, missing, sinceMs } = unmatched;
    if (kind === 'late') this.#counters.late++;
    else if (kind === 'duplicate') this.#counters.duplicates++;
    else this.#counters.unmatched++;
    this.#options.log.warn({ connectionId, kind, missing, sinceMs }, 'a response that no request waits for');
    this.#options.onUnmatched?.(unmatched);
  }
}
