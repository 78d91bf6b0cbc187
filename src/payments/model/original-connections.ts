/** Uncertain taps are few. Above this number the oldest entries are dropped, and their reversals wait instead. */
const MAX_REMEMBERED = 10_000;

/** Remembers which connection carried a request that may need a reversal. The record lasts as long as this process. */
export class OriginalConnections {
  readonly #connections = new Map<string, string>();

  remember(transactionId: string, connectionId: string): void {
    if (this.#connections.size >= MAX_REMEMBERED) this.#connections.delete(this.#connections.keys().next().value!);
    this.#connections.set(transactionId, connectionId);
  }

  find(transactionId: string): string | undefined {
    return this.#connections.get(transactionId);
  }
}
