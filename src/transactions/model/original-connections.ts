/** Uncertain taps are few; beyond this the oldest are forgotten and their reversals wait instead. */
const MAX_REMEMBERED = 10_000;

/** Which connection carried a request whose reversal may follow: for as long as this process lives, and no longer. */
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
