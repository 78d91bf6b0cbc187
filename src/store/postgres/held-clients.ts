import type pg from 'pg';
import { destroyConnection } from './limited-client.ts';

/** How often a pool is looked at: a limit is passed by at most two looks. */
const LOOK_EVERY_MS = 250;

interface Use {
  /** When it was taken; undefined while it is idle. */
  takenAtMs: number | undefined;
  /** When the server was last known to answer it. */
  heardAtMs: number;
  heldMs: number;
  /** Its limit had passed at the last look. */
  isLate: boolean;
}

/**
 * Destroys connections that a caller has held for longer than the limit of their pool, by the monotonic clock: the server, or
 * the way to it, has gone silent. Only one that was late at the look before is destroyed, so that a process that stood still
 * reads what has arrived meanwhile. With it go the idle ones that have heard nothing since it was taken, as they would fail
 * their next callers one by one; what follows opens fresh connections.
 *
 * A look costs the same for any number of statements, and a statement nothing.
 */
export class HeldClients {
  readonly #heldMs: number;
  readonly #uses = new Map<pg.ClientBase, Use>();
  readonly #nowMs: () => number;

  constructor(heldMs: number, nowMs = () => performance.now()) {
    this.#heldMs = heldMs;
    this.#nowMs = nowMs;
  }

  /** Watches a pool until it has ended. */
  watch(pool: pg.Pool): void {
    pool.on('acquire', (client) => this.taken(client));
    pool.on('release', (_error, client) => this.givenBack(client));
    pool.on('remove', (client) => this.#uses.delete(client));
    const timer = setInterval(() => {
      if (pool.ended) clearInterval(timer);
      else this.look();
    }, LOOK_EVERY_MS).unref();
  }

  /** @param heldMs for this time, instead of the limit of the pool */
  taken(client: pg.ClientBase, heldMs = this.#heldMs): void {
    const takenAtMs = this.#nowMs();
    const use = this.#uses.get(client);
    if (use) Object.assign(use, { takenAtMs, heldMs, isLate: false });
    else this.#uses.set(client, { takenAtMs, heardAtMs: takenAtMs, heldMs, isLate: false });
  }

  givenBack(client: pg.ClientBase): void {
    const use = this.#uses.get(client);
    if (!use) return;
    use.takenAtMs = undefined;
    use.heardAtMs = this.#nowMs();
  }

  /** Destroys what has been late since the last look. */
  look(): void {
    const nowMs = this.#nowMs();
    let silentSinceMs = Number.NEGATIVE_INFINITY;
    for (const [client, use] of this.#uses) {
      if (use.takenAtMs === undefined || nowMs - use.takenAtMs <= use.heldMs) continue;
      if (use.isLate) {
        silentSinceMs = Math.max(silentSinceMs, use.takenAtMs);
        this.#destroy(client);
      }
      use.isLate = true;
    }
    for (const [client, { takenAtMs, heardAtMs }] of this.#uses)
      if (takenAtMs === undefined && heardAtMs <= silentSinceMs) this.#destroy(client);
  }

  #destroy(client: pg.ClientBase): void {
    this.#uses.delete(client);
    destroyConnection(client);
  }
}
