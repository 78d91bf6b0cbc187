import type { Stans } from './acquirer-switch.ts';

/** Sign-on and echoes are rare: so many are kept at hand, since a connection cannot wait for the database. */
const KEPT = 20;
const REFILL_BELOW = 10;

/** STANs of network management messages, ready without waiting. While the database is away the last ones are used again. */
export class NetworkStans {
  readonly #stans: Stans;
  readonly #scope: string;
  #ready: string[] = [];
  #next = 0;
  #isFilling = false;
  #isClosed = false;

  private constructor(stans: Stans, scope: string) {
    this.#stans = stans;
    this.#scope = scope;
  }

  static async open(stans: Stans, scope: string): Promise<NetworkStans> {
    const network = new NetworkStans(stans, scope);
    await network.#fill();
    return network;
  }

  next(): string {
    const stan = this.#ready[this.#next++ % this.#ready.length]!;
    if (this.#ready.length - this.#next < REFILL_BELOW) void this.#fill().catch(() => {});
    return stan;
  }

  close(): void {
    this.#isClosed = true;
  }

  async #fill(): Promise<void> {
    if (this.#isFilling || this.#isClosed) return;
    this.#isFilling = true;
    try {
      const fresh: string[] = [];
      while (fresh.length < KEPT) fresh.push(await this.#stans.next(this.#scope));
      this.#ready = [...this.#ready.slice(this.#next), ...fresh];
      this.#next = 0;
    } finally {
      this.#isFilling = false;
    }
  }
}
