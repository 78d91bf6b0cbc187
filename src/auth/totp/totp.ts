import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

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
    if (given.length === expected.length && timingSafeEqual(given, expected)) found = step;
  }
  return found;
}

/** RFC 4648 6, without padding, as authenticator apps expect it. */
export function encodeBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}
