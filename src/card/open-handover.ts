import { SealError } from '../basics/errors.ts';
import { indexTlv } from '../codecs/emv/tlv.ts';
import type { OpenHandover } from '../payments/taps/submit-handover.ts';
import {
  decodeBlobs,
  decodeEnvelope,
  decryptOnce,
  type HandoverAttempt,
  type HandoverBlobs,
  type HandoverKeys,
  MemoryKeyPair,
} from './handover-envelope.ts';
import { LIVE_KEYS_TRUSTED_MS } from './seal-handover.ts';

/** A key accepts new taps for this long, which leaves ten minutes of its hour for taps in progress. */
const ROTATED_AFTER_MS = 50 * 60 * 1_000;
const PAIR_LIVES_MS = 60 * 60 * 1_000;
/** Publishing is the worker's sign of life: after three failures the api processes leave it out. */
const PUBLISHED_EVERY_MS = 15_000;
const LIVE_FOR_MS = 60_000;
/**
 * Maximum time from the acceptance of a tap to the last moment for its submission: the remainder of the ten minutes.
 */
export const MAX_LONGEST_WAIT_MS = PAIR_LIVES_MS - ROTATED_AFTER_MS - LIVE_FOR_MS - LIVE_KEYS_TRUSTED_MS;

export interface HandoverOpenerOptions {
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
}

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
  readonly #options: HandoverOpenerOptions;
  readonly #monotonicMs: () => number;
  /** Newest first. The first one is published. */
  #held: HeldPair[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HandoverOpenerOptions) {
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
