import { LruMap } from '../codecs/bytes/lru-map.ts';

interface RecentRead<Value> {
  readonly value: Promise<Value>;
  /** When the read started. */
  readonly readAtMs: number;
}

/** A revoked key and a blocked user must stop working within 5 s (contract, "Authentication"). */
const TRUSTED_FOR_MS = 4_000;
/** Ids in use at once, including unknown ones. */
const MAX_READS = 4_096;

/** Rows of credentials by id, at most 4 s old. A failed read is not cached. */
export class RecentReads<Value> {
  readonly #read: (id: string) => Promise<Value>;
  readonly #monotonicMs: () => number;
  readonly #reads = new LruMap<string, RecentRead<Value>>(MAX_READS);

  constructor(read: (id: string) => Promise<Value>, monotonicMs: () => number = () => performance.now()) {
    this.#read = read;
    this.#monotonicMs = monotonicMs;
  }

  get(id: string): Promise<Value> {
    const nowMs = this.#monotonicMs();
    const recent = this.#reads.get(id);
    if (recent !== undefined && nowMs - recent.readAtMs < TRUSTED_FOR_MS) return recent.value;
    const value = this.#read(id);
    this.#reads.set(id, { value, readAtMs: nowMs });
    value.catch(() => this.#reads.delete(id));
    return value;
  }
}
