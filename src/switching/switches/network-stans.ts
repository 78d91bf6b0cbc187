/**
 * Sign-on and echoes are rare. This many STANs are kept in reserve, because a connection cannot wait for the
 * database.
 */
const KEPT = 20;
const REFILL_BELOW = 10;

type NextStan = () => Promise<string | undefined>;

/**
 * STANs of network management messages, available without waiting. If no more can be reserved, the last ones are used
 * again.
 */
export class NetworkStans {
  readonly #nextStan: NextStan;
  #ready: string[] = [];
  #next = 0;
  #isFilling = false;
  #isClosed = false;

  private constructor(nextStan: NextStan) {
    this.#nextStan = nextStan;
  }

  static async open(nextStan: NextStan): Promise<NetworkStans> {
    const network = new NetworkStans(nextStan);
    await network.#fill();
    if (network.#ready.length === 0) network.#ready = ['000001'];
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
      while (fresh.length < KEPT) {
        const stan = await this.#nextStan();
        if (stan === undefined) break;
        fresh.push(stan);
      }
      if (fresh.length === 0) return;
      this.#ready = [...this.#ready.slice(this.#next), ...fresh];
      this.#next = 0;
    } finally {
      this.#isFilling = false;
    }
  }
}
