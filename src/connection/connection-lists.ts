import type { Connection } from './connection.ts';
import type { ConnectionState } from './connection-state.ts';

/**
 * The connections of a pool. A connection's state is the list it is in:
 *
 *   connecting   dialled or accepted, not signed on (again) yet; carries nothing new
 *   ready        signed on, with room for another request
 *   full         signed on, without room: its slots are taken, or the switch does not read
 *   draining     finishes what is in flight, then signs off; carries only what held a slot before
 *   down         ended, until a new connection to the same address takes its place
 */
export class ConnectionLists<Message> {
  readonly connecting = new Set<Connection<Message>>();
  readonly ready = new Set<Connection<Message>>();
  readonly full = new Set<Connection<Message>>();
  readonly draining = new Set<Connection<Message>>();
  readonly down = new Set<Connection<Message>>();

  add(connection: Connection<Message>): void {
    this[connection.state].add(connection);
  }

  remove(connection: Connection<Message>): void {
    this[connection.state].delete(connection);
  }

  move(connection: Connection<Message>, to: ConnectionState): void {
    this[connection.state].delete(connection);
    connection.state = to;
    this[to].add(connection);
  }

  /** Those that have a socket, in a list of their own: walking it may move them. */
  open(): Connection<Message>[] {
    return [...this.connecting, ...this.ready, ...this.full, ...this.draining];
  }

  find(connectionId: string): Connection<Message> | undefined {
    return this.open().find((connection) => connection.id === connectionId);
  }

  /**
   * Of the ready connections of the best rank, the one with the least in flight. A suspect one is chosen only where no other is
   * ready: a switch that is slow has no other line.
   */
  choose(isSuspect: (connection: Connection<Message>) => boolean): Connection<Message> | undefined {
    return this.#best((connection) => !isSuspect(connection)) ?? this.#best(() => true);
  }

  #best(isWanted: (connection: Connection<Message>) => boolean): Connection<Message> | undefined {
    let best: Connection<Message> | undefined;
    for (const connection of this.ready) {
      const isBetter =
        !best || connection.rank < best.rank || (connection.rank === best.rank && connection.load < best.load);
      if (isBetter && isWanted(connection)) best = connection;
    }
    return best;
  }
}
