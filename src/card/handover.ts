import { randomBytes } from 'node:crypto';
import { SealError } from '../basics/errors.ts';
import { indexTlv } from '../codecs/emv/tlv.ts';
import type { Handover } from '../payments/ports/switch-ports.ts';
import type { OpenHandover } from '../payments/taps/handovers.ts';
import {
  CONTENT_KEY_BYTES,
  decodeBlobs,
  decodeEnvelope,
  decryptOnce,
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

/** A key accepts new taps for this long, which leaves ten minutes of its hour for taps in progress. */
const ROTATED_AFTER_MS = 50 * 60 * 1_000;
/** Of the pairs of workers and of api processes: no key that could open a value is older than an hour. */
const PAIR_LIVES_MS = 60 * 60 * 1_000;
/** Publishing is the worker's sign of life: after three failures the api processes leave it out. */
const PUBLISHED_EVERY_MS = 15_000;
const LIVE_FOR_MS = 60_000;
/**
 * How long the list of workers is used before it is read again. A worker keeps its key for that long after
 * withdrawing it.
 */
export const LIVE_KEYS_TRUSTED_MS = 2_000;
/**
 * Maximum time from the acceptance of a tap to the last moment for its submission: the remainder of the ten minutes.
 */
export const MAX_LONGEST_WAIT_MS = PAIR_LIVES_MS - ROTATED_AFTER_MS - LIVE_FOR_MS - LIVE_KEYS_TRUSTED_MS;

interface HeldPair {
  readonly pair: MemoryKeyPair;
  readonly madeAtMs: number;
  /** When the last tap sealed for the key is over; each publication extends it. */
  disposableAtMs: number;
}

/**
 * The worker's half of the handover. It creates a key pair in memory, publishes the public half while the worker
 * lives, and creates a new pair every 50 minutes. It discards the old pair when no tap can need it any longer, at
 * the latest when the pair is an hour old.
 */
export class HandoverOpener {
  readonly #options;
  readonly #monotonicMs: () => number;
  /** Newest first. The first one is published. */
  #held: HeldPair[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: {
    readonly keys: HandoverKeys;
    readonly workerId: string;
    /**
     * Time from the acceptance of a tap to the last moment for its submission: the processors' longest deadline and
     * its slack.
     */
    readonly longestWaitMs: number;
    /** Called when a publication fails; the next try follows 15 s later. */
    readonly onError: (error: unknown) => void;
    readonly monotonicMs?: () => number;
  }) {
    if (options.longestWaitMs > MAX_LONGEST_WAIT_MS) {
      throw new RangeError(`a tap may wait at most ${MAX_LONGEST_WAIT_MS} ms for its worker`);
    }
    this.#options = options;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
  }

  /** Publishes the first key; from then on api processes seal for this worker. Throws the errors of publishing. */
  async start(): Promise<void> {
    this.#rotate();
    await this.#publish(LIVE_FOR_MS);
    this.#timer = setInterval(() => this.#keepUp(), PUBLISHED_EVERY_MS).unref();
  }

  /**
   * Stops api processes from sealing for this worker; values that they sealed before still open. Throws the errors
   * of publishing.
   */
  async withdraw(): Promise<void> {
    clearInterval(this.#timer);
    await this.#publish(0);
  }

  /** Discards every key. Other workers can still open taps that were sealed for them as well. */
  stop(): void {
    clearInterval(this.#timer);
    for (const { pair } of this.#held) pair.destroy();
    this.#held = [];
  }

  /**
   * Opens what a `HandoverSealer` sealed for the same attempt.
   *
   * @throws {SealError} KEY_GONE if it was sealed for other workers or too long ago, SEAL_BROKEN if it was changed
   * or belongs to another attempt
   */
  open(attempt: HandoverAttempt, sealed: Uint8Array): HandoverBlobs {
    this.#forgetOld();
    const { sender, salt, keys, ciphertext } = decodeEnvelope(sealed);
    for (const { keyId, wrapped } of keys) {
      const pair = this.#held.find((held) => held.pair.id.equals(keyId))?.pair;
      if (pair === undefined) continue;
      const wrappingKey = pair.deriveKey(sender, salt, sender, pair.publicKey);
      const contentKey = decryptOnce(wrappingKey, wrapped, attempt);
      return decodeBlobs(decryptOnce(contentKey, ciphertext, attempt));
    }
    throw new SealError('KEY_GONE');
  }

  #keepUp(): void {
    this.#rotate();
    this.#forgetOld();
    this.#publish(LIVE_FOR_MS).catch(this.#options.onError);
  }

  #rotate(): void {
    const nowMs = this.#monotonicMs();
    const newest = this.#held[0];
    if (newest !== undefined && nowMs - newest.madeAtMs < ROTATED_AFTER_MS) return;
    this.#held.unshift({ pair: new MemoryKeyPair(), madeAtMs: nowMs, disposableAtMs: nowMs });
  }

  #forgetOld(): void {
    const nowMs = this.#monotonicMs();
    const isOld = ({ madeAtMs, disposableAtMs }: HeldPair, position: number) =>
      nowMs - madeAtMs >= PAIR_LIVES_MS || (position > 0 && nowMs >= disposableAtMs);
    const old = this.#held.filter(isOld);
    if (old.length === 0) return;
    this.#held = this.#held.filter((held) => !old.includes(held));
    for (const { pair } of old) pair.destroy();
  }

  async #publish(liveForMs: number): Promise<void> {
    const { keys, workerId, longestWaitMs } = this.#options;
    const held = this.#held[0];
    if (held === undefined) return;
    try {
      await keys.publish({ workerId, publicKey: held.pair.publicKey, liveForMs });
    } finally {
      // Also after a failure, because the key may have been published and only the response lost.
      held.disposableAtMs = this.#monotonicMs() + liveForMs + LIVE_KEYS_TRUSTED_MS + longestWaitMs;
    }
  }
}

/**
 * Opens a tap for a worker that an api process sealed; undefined if it was sealed for other workers, or too long
 * ago.
 */
export function readHandovers(opener: HandoverOpener): OpenHandover {
  return (attempt, sealed) => {
    try {
      const bytes = opener.open(attempt, sealed);
      return { general: indexTlv(bytes.general), payment: indexTlv(bytes.payment), bytes };
    } catch (error) {
      if (error instanceof SealError && error.code === 'KEY_GONE') return undefined;
      throw error;
    }
  };
}

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
