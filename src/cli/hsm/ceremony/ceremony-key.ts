import type { KeyAlgorithm } from '../../../codecs/crypto/block-key.ts';

/** The key that a ceremony forms. */
export interface CeremonyKey {
  readonly keyId: string;
  readonly usage: string;
  readonly algorithm: KeyAlgorithm;
  readonly lengthBytes: number;
}

/** Logins and components that one custodian may enter. */
export const MOST_TRIES = 3;
