import type pg from 'pg';
import { destroyConnection } from './limited-client.ts';

/** Interval of the check: a limit is exceeded by at most two checks. */
const LOOK_EVERY_MS = 250;

interface Use {
  /** When it was taken; undefined while it is idle. */
  takenAtMs: number | undefined;
  /** When the server last responded on it. */
  heardAtMs: number;
  heldMs: number;
  /** Its limit had passed at the last check. */
  isLate: boolean;
}

/**
 * Destroys connections that a caller has held for longer than the limit of their pool, on the monotonic clock,
 * because the server or the way to it no longer responds. Only a connection that was late at the previous check is
 * destroyed, so that a process that was paused first reads what has arrived meanwhile. Idle connections without a
 * response since then are also destroyed, because they would fail their next callers one by one. Later callers open
 * new connections.
 *
 * A check costs the same for any number of statements, and a statement costs nothing.
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
    pool.on('release', (_error, client) => this.noteReleased(client));
    pool.on('remove', (client) => this.#uses.delete(client));
    const timer = setInterval(() => {
      if (pool.ended) clearInterval(timer);
      else this.look();
    }, LOOK_EVERY_MS).unref();
  }

  /** @param heldMs replaces the limit of the pool for this use */
  taken(client: pg.ClientBase, heldMs = this.#heldMs): void {
    const takenAtMs = this.#nowMs();
    const use = this.#uses.get(client);
    if (use) Object.assign(use, { takenAtMs, heldMs, isLate: false });
    else this.#uses.set(client, { takenAtMs, heardAtMs: takenAtMs, heldMs, isLate: false });
  }

  noteReleased(client: pg.ClientBase): void {
    const use = this.#uses.get(client);
    if (!use) return;
    use.takenAtMs = undefined;
    use.heardAtMs = this.#nowMs();
  }

  /** Destroys connections that have been late since the last check. */
  look(): void {
    const nowMs = this.#nowMs();
    let lastSilenceAtMs = Number.NEGATIVE_INFINITY;
    for (const [client, use] of this.#uses) {
      if (use.takenAtMs === undefined || nowMs - use.takenAtMs <= use.heldMs) continue;
      if (use.isLate) {
        lastSilenceAtMs = Math.max(lastSilenceAtMs, use.takenAtMs);
        this.#destroy(client);
      }
      use.isLate = true;
    }
    for (const [client, { takenAtMs, heardAtMs }] of this.#uses)
      if (takenAtMs === undefined && heardAtMs <= lastSilenceAtMs) this.#destroy(client);
  }

  #destroy(client: pg.ClientBase): void {
    this.#uses.delete(client);
    destroyConnection(client);
  }
}
