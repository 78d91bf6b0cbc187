import { readFileSync, statSync } from 'node:fs';
import { HsmUnavailable, TokenError } from '../basics/errors.ts';
import {
  buildKeyRing,
  KeyOpener,
  type KeyRing,
  parseKeyRingFile,
  readKeyRingFile,
  type SecretKeys,
} from './key-ring.ts';
import type { KeyToken } from './key-ring-file.ts';

/** Every process learns of a rotation within this time. */
const LOOK_EVERY_MS = 2_000;
/** Requests for unknown keys must not cause a read of the file each time. */
const LEAST_BETWEEN_LOOKS_MS = 200;

/** Pause after a token did not respond. */
const TOKEN_PAUSE_MS = 30_000;

/** A ring that follows its file. */
export interface LiveKeyRing extends KeyRing {
  close(): void;
}

/**
 * The keys of an installation as they are in the file now, so a rotation needs no restart. A file that cannot be
 * used changes nothing.
 *
 * Another process may have seen a rotation first and used the new key at once. A key that is not in the ring is
 * therefore looked up in the file before it counts as missing.
 *
 * @param onError called if the file exists and cannot be used
 * @param token of the keys that the file only names
 * @throws {StartError} BAD_CONFIG if the file cannot be used at the start; HsmUnavailable if the token does not respond
 */
export async function openLiveKeyRing(
  path: string,
  onError: (error: unknown) => void,
  token?: KeyToken,
): Promise<LiveKeyRing> {
  const opener = new KeyOpener(token, path);
  const file = new FollowedFile(path, await readWith(opener, path), opener, onError);
  const timer = setInterval(() => file.look(), LOOK_EVERY_MS).unref();
  return {
    cardDataKey: (kid) => file.find((ring) => ring.cardDataKey(kid)),
    publicCardDataKeys: (nowMs) => file.ring.publicCardDataKeys(nowMs),
    panSealing: liveSecrets(file, 'panSealing'),
    panHash: liveSecrets(file, 'panHash'),
    blobHmac: liveSecrets(file, 'blobHmac'),
    webhookSealing: liveSecrets(file, 'webhookSealing'),
    get tokenSigning() {
      return file.ring.tokenSigning;
    },
    tokenKey: (kid) => file.find((ring) => ring.tokenKey(kid)),
    close: () => clearInterval(timer),
  };
}

async function readWith(opener: KeyOpener, path: string): Promise<KeyRing> {
  return buildKeyRing(await readKeyRingFile(path), opener);
}

/** The same object for the lifetime of the process, because its users keep a reference to it. */
function liveSecrets(
  file: FollowedFile,
  purpose: 'panSealing' | 'panHash' | 'blobHmac' | 'webhookSealing',
): SecretKeys {
  return {
    get current() {
      return file.ring[purpose].current;
    },
    get all() {
      return file.ring[purpose].all;
    },
    find: (id) => file.find((ring) => ring[purpose].find(id)),
  };
}

class FollowedFile {
  ring: KeyRing;
  readonly #path: string;
  readonly #opener: KeyOpener;
  readonly #onError: (error: unknown) => void;
  #version: string | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #pauseEndsAtMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, ring: KeyRing, opener: KeyOpener, onError: (error: unknown) => void) {
    this.#path = path;
    this.ring = ring;
    this.#opener = opener;
    this.#onError = onError;
  }

  find<Key>(look: (ring: KeyRing) => Key | undefined): Key | undefined {
    const found = look(this.ring);
    if (found !== undefined || performance.now() - this.#lookedAtMs < LEAST_BETWEEN_LOOKS_MS) return found;
    this.look();
    return look(this.ring);
  }

  /**
   * Synchronous, because a caller that misses a key cannot wait. The file has at most 64 KB and is read only after
   * it was replaced. If a token must open a new secret and does not respond, or does not have its key yet, the next look is
   * after a pause, because each one can stop the process for seconds.
   */
  look(): void {
    this.#lookedAtMs = performance.now();
    if (this.#lookedAtMs < this.#pauseEndsAtMs) return;
    try {
      const { ino, mtimeMs, size } = statSync(this.#path);
      const version = `${ino} ${mtimeMs} ${size}`;
      if (version === this.#version) return;
      this.#version = version;
      const file = parseKeyRingFile(readFileSync(this.#path, 'utf8'), this.#path);
      this.ring = buildKeyRing(file, this.#opener);
    } catch (error) {
      if (error instanceof HsmUnavailable || error instanceof TokenError) {
        this.#version = undefined;
        this.#pauseEndsAtMs = performance.now() + TOKEN_PAUSE_MS;
      }
      this.#onError(error);
    }
  }
}
