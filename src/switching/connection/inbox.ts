import { TapwireError } from '../../basics/errors.ts';
import { LogBudget } from '../../basics/limits/log-budget.ts';
import type { ProtocolConnection } from '../../codecs/iso8583/network/switch-protocol.ts';
import type { Connection, MessageEvents } from './connection.ts';
import type { Deadlines } from './deadlines.ts';
import type { PendingRequest, PendingRequests, UnmatchedResponse } from './pending-requests.ts';
import type { PoolCounters } from './pool-stats.ts';
import type { PoolOptions } from './pool-types.ts';

/** A faulty switch repeats its fault in every message; this is enough log lines to diagnose it. */
const LINES_PER_SECOND = 10;

/**
 * Receives every message from the switch. A response is matched to its request or reported as unmatched. A request is
 * passed to the protocol. An unreadable message is counted and reported without any of its bytes.
 */
export class Inbox<Message> implements MessageEvents<Message> {
  readonly #options: PoolOptions<Message>;
  readonly #parts;
  readonly #budget = new LogBudget(LINES_PER_SECOND);

  constructor(
    options: PoolOptions<Message>,
    parts: {
      readonly pending: PendingRequests<Message>;
      readonly counters: PoolCounters;
      readonly deadlines: Deadlines;
      readonly connectionOf: (connection: Connection<Message>) => ProtocolConnection<Message> | undefined;
    },
  ) {
    this.#options = options;
    this.#parts = parts;
  }

  onResponse(connection: Connection<Message>, response: Message, monotonicMs: number): void {
    const { pending: requests, counters } = this.#parts;
    const { pending, key, missing } = requests.match(response, connection);
    if (!pending) {
      this.#reportUnmatched({ ...requests.lookBack(key, monotonicMs), response, connectionId: connection.id, missing });
      return;
    }
    counters.responded++;
    counters.roundTrips.record(requests.respond(pending, response, missing, monotonicMs));
  }

  onRequest(connection: Connection<Message>, request: Message, reply: (response: Message) => void): void {
    const known = this.#parts.connectionOf(connection);
    const { protocol } = this.#options;
    if (!known) return;
    if (!protocol.onRequest) {
      this.#warn({ connectionId: connection.id }, 'switch request has no handler, ignored');
      return;
    }
    const responded = (async () => protocol.onRequest!(request, reply, known))();
    responded.catch((error) => this.#reportBadMessage(connection, error));
  }

  onBadMessage(connection: Connection<Message>, error: unknown, monotonicMs: number): void {
    const pending = this.#requestOf(error, connection);
    this.#reportBadMessage(connection, error, pending?.request);
    if (pending) this.#parts.pending.rejectUnreadable(pending, error, monotonicMs);
  }

  /** The request whose response was refused with `error`, if its whole key could be read. */
  #requestOf(error: unknown, connection: Connection<Message>): PendingRequest<Message> | undefined {
    const { protocol } = this.#options;
    try {
      const response = protocol.salvage?.(error);
      if (response === undefined || !protocol.isResponse(response)) return undefined;
      const { pending, key } = this.#parts.pending.match(response, connection);
      return key === undefined ? undefined : pending;
    } catch {
      return undefined; // A partly read message may break a matching function; the message is reported.
    }
  }

  #reportBadMessage(connection: Connection<Message>, error: unknown, request?: Message): void {
    this.#parts.counters.badMessages++;
    const code = error instanceof TapwireError ? error.code : error instanceof Error ? error.name : 'unknown';
    const where = this.#options.protocol.faultFields?.(error, request);
    this.#warn({ connectionId: connection.id, code, ...where }, 'switch message is invalid, discarded');
  }

  #reportUnmatched(unmatched: UnmatchedResponse<Message>): void {
    const { counters } = this.#parts;
    const { kind, connectionId, missing, sinceMs } = unmatched;
    if (kind === 'late') counters.late++;
    else if (kind === 'duplicate') counters.duplicates++;
    else counters.unmatched++;
    this.#warn({ connectionId, kind, missing, sinceMs }, 'switch response matches no request in flight');
    this.#options.onUnmatched?.(unmatched);
  }

  #warn(fields: object, text: string): void {
    this.#budget.spend(this.#parts.deadlines.monotonicMs(), (suppressed) => {
      this.#options.log.warn({ ...fields, suppressed }, text);
    });
  }
}
