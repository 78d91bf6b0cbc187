import { readFileSync, statSync } from 'node:fs';
import { buildKeyRing, type KeyRing, parseKeyRingFile, readKeyRing, type SecretKeys } from './key-ring.ts';

/** What a rotation has changed every process knows within so long. */
const LOOK_EVERY_MS = 2_000;
/** Who asks for keys that do not exist must not have us read the file each time. */
const LEAST_BETWEEN_LOOKS_MS = 200;

/** A ring that follows its file. */
export interface LiveKeyRing extends KeyRing {
  close(): void;
}

/**
 * The keys of an installation, as the file has them now: a rotation needs no restart. A file that cannot be used leaves
 * everything as it was.
 *
 * Another process may have seen a rotation first, and used the new key at once: so a key that is not in the ring is
 * looked for in the file before it counts as gone.
 *
 * @param onError told when the file is there and cannot be used
 * @throws {StartError} BAD_CONFIG when it cannot be used from the start
 */
export async function openLiveKeyRing(path: string, onError: (error: unknown) => void): Promise<LiveKeyRing> {
  const file = new FollowedFile(path, await readKeyRing(path), onError);
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

/** The same object for as long as the process lives: its users hold on to it. */
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
  readonly #onError: (error: unknown) => void;
  #version: string | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, ring: KeyRing, onError: (error: unknown) => void) {
    this.#path = path;
    this.ring = ring;
    this.#onError = onError;
  }

  find<Key>(look: (ring: KeyRing) => Key | undefined): Key | undefined {
    const found = look(this.ring);
    if (found !== undefined || performance.now() - this.#lookedAtMs < LEAST_BETWEEN_LOOKS_MS) return found;
    this.look();
    return look(this.ring);
  }

  /** Synchronous, because whoever misses a key cannot wait; a file of 64 KB at most, read when it was replaced. */
  look(): void {
    this.#lookedAtMs = performance.now();
    try {
      const { ino, mtimeMs, size } = statSync(this.#path);
      const version = `${ino} ${mtimeMs} ${size}`;
      if (version === this.#version) return;
      this.#version = version;
      this.ring = buildKeyRing(parseKeyRingFile(readFileSync(this.#path, 'utf8'), this.#path), this.#path);
    } catch (error) {
      this.#onError(error);
    }
  }
}
