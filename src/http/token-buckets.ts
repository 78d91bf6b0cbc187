/** Rate and capacity of a bucket. */
export interface BucketSize {
  readonly perSecond: number;
  /** Capacity in seconds: how many seconds' worth may be taken at once. */
  readonly burstSeconds: number;
}

interface Bucket {
  left: number;
  filledAtMs: number;
}

/**
 * Token buckets of one size by key. Each request takes one token, and time refills the bucket. If there are too many
 * buckets, the oldest is dropped. By then it is full, or its owner is one of very many.
 */
export class TokenBuckets<Key> {
  readonly most: number;
  readonly #perMs: number;
  readonly #capacity: number;
  readonly #buckets = new Map<Key, Bucket>();

  constructor({ perSecond, burstSeconds }: BucketSize, capacity: number) {
    this.most = perSecond * burstSeconds;
    this.#perMs = perSecond / 1_000;
    this.#capacity = capacity;
  }

  /** @returns 0 if a token was taken, otherwise the seconds until the next token */
  take(key: Key, nowMs: number): number {
    return this.#takeOf(this.#buckets.get(key) ?? this.#add(key, nowMs), nowMs);
  }

  /** As `take`, but returns undefined if there is no bucket with this key, and creates none. */
  takeIfKnown(key: Key, nowMs: number): number | undefined {
    const bucket = this.#buckets.get(key);
    return bucket && this.#takeOf(bucket, nowMs);
  }

  #takeOf(bucket: Bucket, nowMs: number): number {
    bucket.left = Math.min(this.most, bucket.left + (nowMs - bucket.filledAtMs) * this.#perMs);
    bucket.filledAtMs = nowMs;
    if (bucket.left < 1) return Math.ceil((1 - bucket.left) / this.#perMs / 1_000);
    bucket.left--;
    return 0;
  }

  #add(key: Key, nowMs: number): Bucket {
    if (this.#buckets.size >= this.#capacity) this.#buckets.delete(this.#buckets.keys().next().value!);
    const bucket = { left: this.most, filledAtMs: nowMs };
    this.#buckets.set(key, bucket);
    return bucket;
  }
}
