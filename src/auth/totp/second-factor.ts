import { hash, randomBytes } from 'node:crypto';
import type { KeyRing } from '../../card/key-ring.ts';
import { openBytes, sealBytes } from '../../card/seal-bytes.ts';
import { createTotpSecret, encodeBase32, stepOfCode } from './totp.ts';

/** The second factor of a user with a password, as it is stored. */
export interface StoredFactor {
  /** Sealed to the user. */
  readonly secret: Uint8Array;
  /** SHA-256 of the recovery codes that are left. */
  readonly recoveryHashes: readonly Uint8Array[];
}

/** What a code proves, before it is used up. */
export type FactorProof =
  | { readonly kind: 'step'; readonly step: number }
  | { readonly kind: 'recovery'; readonly codeHash: Uint8Array };

/** 80 bits cannot be guessed, so their hash needs no salt. 10 bytes are 16 characters of Base32. */
const RECOVERY_BYTES = 10;
const RECOVERY_CODES = 10;
const TOTP = /^\d{6}$/;
const RECOVERY = /^[A-Z2-7]{16}$/;
const SEALED_FOR = 'totp';
/** Checked if there is no factor, so that a login takes as long with one as without. */
const UNUSED_SECRET = createTotpSecret();

/** Seals and checks second factors. */
export interface SecondFactors {
  seal(userId: string, secret: Buffer): Uint8Array;
  /**
   * What the code proves; undefined if it is wrong. A code must then be used up.
   *
   * @throws SealError if the secret cannot be opened
   */
  check(
    userId: string | undefined,
    factor: StoredFactor | undefined,
    code: string | undefined,
  ): FactorProof | undefined;
}

export function createSecondFactors(
  { webhookSealing: keys }: Pick<KeyRing, 'webhookSealing'>,
  nowMs: () => number,
): SecondFactors {
  return {
    seal: (owner, secret) => sealBytes(keys, { purpose: SEALED_FOR, owner }, secret),
    check(owner, factor, given = '') {
      const code = given.replace(/[\s-]/g, '').toUpperCase();
      if (owner === undefined || factor === undefined) {
        stepOfCode(UNUSED_SECRET, code, nowMs());
        return undefined;
      }
      if (RECOVERY.test(code)) return recoveryProof(factor, code);
      const secret = openBytes(keys, { purpose: SEALED_FOR, owner }, factor.secret);
      const step = TOTP.test(code) ? stepOfCode(secret, code, nowMs()) : undefined;
      secret.fill(0);
      return step === undefined ? undefined : { kind: 'step', step };
    },
  };
}

/** An index is not a secret: the hash of a guess cannot be chosen. */
function recoveryProof({ recoveryHashes }: StoredFactor, code: string): FactorProof | undefined {
  const codeHash = recoveryHash(code);
  return recoveryHashes.some((each) => codeHash.equals(each)) ? { kind: 'recovery', codeHash } : undefined;
}

function recoveryHash(code: string): Buffer {
  return hash('sha256', code, 'buffer');
}

/** Codes to print or to store in a safe place, for a person without the phone; each counts once. */
export function createRecoveryCodes(): { readonly codes: string[]; readonly hashes: Buffer[] } {
  const plain = Array.from({ length: RECOVERY_CODES }, () => encodeBase32(randomBytes(RECOVERY_BYTES)));
  return { codes: plain.map((code) => code.match(/.{4}/g)!.join('-')), hashes: plain.map(recoveryHash) };
}
