import { randomBytes } from 'node:crypto';
import { SealError } from '../basics/errors.ts';
import type { Handover } from '../payments/ports/switch-ports.ts';
import {
  CONTENT_KEY_BYTES,
  encodeBlobs,
  encodeEnvelope,
  encryptOnce,
  type HandoverAttempt,
  type HandoverBlobs,
  type HandoverKeys,
  keyIdOf,
  MAX_RECIPIENTS,
  MemoryKeyPair,
  SALT_BYTES,
  type WorkerPublicKey,
  type WrappedKey,
} from './handover-envelope.ts';

/**
 * How long the list of workers is used before it is read again. A worker keeps its key for that long after
 * withdrawing it.
 */
export const LIVE_KEYS_TRUSTED_MS = 2_000;
/** The same lifetime as that of the workers' pairs: no key that could open a value is older than an hour. */
const PAIR_LIVES_MS = 60 * 60 * 1_000;

/**
 * The api process's half of the handover: seals the opened blobs of a tap for every live worker. Neither the sealing
 * key nor any opening key is ever on disk. The copies in the database (dead rows, WAL, backups) can therefore no
 * longer be opened after an hour.
 */
export class HandoverSealer implements Handover {
  readonly #keys: HandoverKeys;
  readonly #monotonicMs: () => number;
  #pair: MemoryKeyPair | undefined;
  #retirement: NodeJS.Timeout | undefined;
  #live: Promise<readonly WorkerPublicKey[]> | undefined;
  #liveReadAtMs = Number.NEGATIVE_INFINITY;

  constructor(keys: HandoverKeys, monotonicMs: () => number = () => performance.now()) {
    this.#keys = keys;
    this.#monotonicMs = monotonicMs;
  }

  /** @throws {SealError} NO_WORKER if none is live, TOO_LARGE; and the errors of `HandoverKeys.live` */
  async seal(attempt: HandoverAttempt, blobs: HandoverBlobs): Promise<Uint8Array> {
    const workers = (await this.#liveWorkers()).slice(0, MAX_RECIPIENTS);
    if (workers.length === 0) throw new SealError('NO_WORKER');
    const pair = this.#currentPair();
    const plaintext = encodeBlobs(blobs);
    const contentKey = randomBytes(CONTENT_KEY_BYTES);
    const salt = randomBytes(SALT_BYTES);
    const keys = workers.map(({ publicKey }): WrappedKey => {
      const wrappingKey = pair.deriveKey(publicKey, salt, pair.publicKey, publicKey);
      return { keyId: keyIdOf(publicKey), wrapped: encryptOnce(wrappingKey, contentKey, attempt) };
    });
    const ciphertext = encryptOnce(contentKey, plaintext, attempt);
    plaintext.fill(0);
    return encodeEnvelope({ sender: pair.publicKey, salt, keys, ciphertext });
  }

  /** Discards the key pair. */
  close(): void {
    clearTimeout(this.#retirement);
    this.#pair?.destroy();
    this.#pair = undefined;
  }

  #currentPair(): MemoryKeyPair {
    if (this.#pair !== undefined) return this.#pair;
    const pair = new MemoryKeyPair();
    this.#pair = pair;
    // A timer, because a check at the next tap could happen a day later.
    this.#retirement = setTimeout(() => this.close(), PAIR_LIVES_MS).unref();
    return pair;
  }

  #liveWorkers(): Promise<readonly WorkerPublicKey[]> {
    const nowMs = this.#monotonicMs();
    if (this.#live !== undefined && nowMs - this.#liveReadAtMs < LIVE_KEYS_TRUSTED_MS) return this.#live;
    const live = this.#keys.live();
    this.#live = live;
    this.#liveReadAtMs = nowMs;
    live.catch(() => {
      if (this.#live === live) this.#live = undefined;
    });
    return live;
  }
}
