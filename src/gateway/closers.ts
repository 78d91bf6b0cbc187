/** What must be closed when the gateway stops, in the order in which it was opened. */
export type Closers = (() => unknown)[];

/** In the reverse order; a fault in one does not keep the others open. */
export async function closeAll(closers: Closers): Promise<void> {
  for (const close of closers.splice(0).reverse()) await Promise.try(close).catch(() => {});
}
