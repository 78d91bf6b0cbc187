import { createHmac, hash, randomBytes } from 'node:crypto';
import QRCode from 'qrcode';
import type { KeyRing } from '../../card/key-ring.ts';
import { openBytes, sealBytes } from '../../card/seal-bytes.ts';
import { isSameMac } from '../../codecs/crypto/mac.ts';

/**
 * One-time codes by time (RFC 6238) with the parameters that all authenticator apps support: HMAC-SHA-1, six digits,
 * steps of 30 s.
 */
const STEP_MS = 30_000;
const DIGITS = 6;
/** RFC 4226 4 (R6) recommends 160 bits. */
const SECRET_BYTES = 20;
/** RFC 6238 5.2: the clock of a phone may be a step behind or ahead, and a code takes time to type. */
const STEPS_AROUND = 1;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function createTotpSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** The code of a step (RFC 4226 5.3). */
export function totpCode(secret: Uint8Array, step: number, digits = DIGITS): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', secret).update(counter).digest();
  const offset = mac.at(-1)! & 0x0f;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/** The step of a code at this time; undefined if the code is wrong. The time taken does not depend on the code. */
export function stepOfCode(secret: Uint8Array, code: string, nowMs: number): number | undefined {
  const present = Math.floor(nowMs / STEP_MS);
  let found: number | undefined;
  for (let step = present - STEPS_AROUND; step <= present + STEPS_AROUND; step++) {
    const expected = Buffer.from(totpCode(secret, step));
    const given = Buffer.from(code);
    if (isSameMac(expected, given)) found = step;
  }
  return found;
}

/** RFC 4648 6, without padding, as authenticator apps expect it. */
export function encodeBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}

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

/** Name under which authenticator apps list the code. */
const ISSUER = 'Tapwire';

/** What a person needs to add the secret to an authenticator app. */
export interface EnrolmentCode {
  /** The secret to type into an app that cannot scan. */
  readonly secret: string;
  /** QR code: modules of a side, and the dark ones as an SVG path of one unit per module. */
  readonly size: number;
  readonly path: string;
}

/** The page draws the code itself, because its policy allows no pictures in data URLs. */
export function enrolmentCode(username: string, secretBytes: Uint8Array): EnrolmentCode {
  const secret = encodeBase32(secretBytes);
  const label = `${ISSUER}:${encodeURIComponent(username)}`;
  const url = `otpauth://totp/${label}?${new URLSearchParams({ secret, issuer: ISSUER })}`;
  const { modules } = QRCode.create(url, { errorCorrectionLevel: 'M' });
  const dark: string[] = [];
  for (let row = 0; row < modules.size; row++)
    for (let column = 0; column < modules.size; column++)
      if (modules.get(row, column) === 1) dark.push(`M${column} ${row}h1v1h-1z`);
  return { secret, size: modules.size, path: dark.join('') };
}
