import { SealError } from '../errors.ts';
import {
  decodeBlobs,
  decodeEnvelope,
  decryptOnce,
  type HandoverAttempt,
  type HandoverBlobs,
} from './handover-envelope.ts';
import type { HandoverKeys } from './handover-keys.ts';
import { MemoryKeyPair } from './memory-key-pair.ts';
import { LIVE_KEYS_TRUSTED_MS } from './seal-handover.ts';

/** A key takes new taps for this long, which leaves ten minutes of its hour for those that are under way. */
const ROTATED_AFTER_MS = 50 * 60 * 1_000;
const PAIR_LIVES_MS = 60 * 60 * 1_000;
/** Publishing is the worker's sign of life: three may fail before the api processes leave it out. */
const PUBLISHED_EVERY_MS = 15_000;
const LIVE_FOR_MS = 60_000;
/** From the acceptance of a tap to the last moment it may still be submitted; what the ten minutes leave. */
export const MAX_LONGEST_WAIT_MS = PAIR_LIVES_MS - ROTATED_AFTER_MS - LIVE_FOR_MS - LIVE_KEYS_TRUSTED_MS;

export interface HandoverOpenerOptions {
  readonly keys: HandoverKeys;
  readonly workerId: string;
  /** From the acceptance of a tap to the last moment it may still be submitted: the processors' longest deadline and its slack. */
  readonly longestWaitMs: number;
  /** Told when a publication fails; it is tried again 15 s later. */
  readonly onError: (error: unknown) => void;
  readonly monotonicMs?: () => number;
}

interface HeldPair {
  readonly pair: MemoryKeyPair;
  readonly madeAtMs: number;
  /** When the last tap sealed for it is over; moves on with each publication. */
  neededUntilMs: number;
}

/**
 * The worker's half of the handover: makes a key pair in memory, publishes its public half while the worker lives, takes a
 * new one every 50 minutes, and forgets the old one once no tap can need it, at the latest when it is an hour old.
 */
export class HandoverOpener {
  readonly #options: HandoverOpenerOptions;
  readonly #monotonicMs: () => number;
  /** Newest first. The first one is published. */
  #held: HeldPair[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HandoverOpenerOptions) {
    if (options.longestWaitMs > MAX_LONGEST_WAIT_MS) {
      throw new RangeError(`a tap may wait ${MAX_LONGEST_WAIT_MS} ms for its worker at most`);
    }
    this.#options = options;
    this.#monotonicMs = options.monotonicMs ?? (() => performance.now());
  }

  /** Publishes the first key; from here on api processes seal for this worker. Throws what publishing throws. */
  async start(): Promise<void> {
    this.#rotate();
    await this.#publish(LIVE_FOR_MS);
    this.#timer = setInterval(() => this.#keepUp(), PUBLISHED_EVERY_MS).unref();
  }

  /** Tells the api processes to seal for this worker no longer; what they sealed still opens. Throws what publishing throws. */
  async withdraw(): Promise<void> {
    clearInterval(this.#timer);
    await this.#publish(0);
  }

  /** Forgets every key. Taps sealed for this worker are opened by the others, or by nobody. */
  stop(): void {
    clearInterval(this.#timer);
    for (const { pair } of this.#held) pair.destroy();
    this.#held = [];
  }

  /**
   * Opens what a `HandoverSealer` sealed for the same attempt.
   *
   * @throws {SealError} KEY_GONE when it was sealed for other workers or too long ago, SEAL_BROKEN when it was changed or
   *   belongs to another attempt
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
    this.#held.unshift({ pair: new MemoryKeyPair(), madeAtMs: nowMs, neededUntilMs: nowMs });
  }

  #forgetOld(): void {
    const nowMs = this.#monotonicMs();
    const isOld = ({ madeAtMs, neededUntilMs }: HeldPair, position: number) =>
      nowMs - madeAtMs >= PAIR_LIVES_MS || (position > 0 && nowMs >= neededUntilMs);
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
      // Also after a failure: it may have been published, and only the answer was lost.
      held.neededUntilMs = this.#monotonicMs() + liveForMs + LIVE_KEYS_TRUSTED_MS + longestWaitMs;
    }
  }
}
