import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { MAX_PASSWORD_CHARS } from '#schemas/login';

/** OWASP's parameters for scrypt: 2^17 · 8 · 1, which takes 128 MB and about 0.3 s. */
const COST = { N: 2 ** 17, r: 8, p: 1, maxmem: 160 * 1024 * 1024 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const STORED = /^scrypt\$(\d{1,7})\$(\d{1,2})\$(\d{1,2})\$([\w-]{22})\$([\w-]{43})$/;
/** Compared if there is no hash, so that the check takes as long as with a wrong password. */
const NOBODYS = { salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) };

/** NIST SP 800-63B 3.1.1.2 requires length and forbids composition rules. */
const MIN_PASSWORD_CHARS = 12;
/** Refuses `aaaaaaaaaaaa`, which has only the length. */
const MIN_DIFFERENT_CHARS = 4;

/** What is wrong with a new password; undefined if it is acceptable. */
export function passwordFault(password: string, username: string): string | undefined {
  const chars = [...password.normalize('NFKC')];
  if (chars.length < MIN_PASSWORD_CHARS) return `must have at least ${MIN_PASSWORD_CHARS} characters`;
  if (chars.length > MAX_PASSWORD_CHARS) return `must have at most ${MAX_PASSWORD_CHARS} characters`;
  if (new Set(chars).size < MIN_DIFFERENT_CHARS)
    return `must have at least ${MIN_DIFFERENT_CHARS} different characters`;
  return password.toLowerCase().includes(username.toLowerCase()) ? 'must not contain the user name' : undefined;
}

/**
 * `scrypt$<N>$<r>$<p>$<salt>$<hash>`, Base64url. The parameters are stored with the hash, so that they can be
 * increased.
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await derive(password, salt, COST);
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/** Whether the password matches the hash. False, after the same work, if there is no hash or it is malformed. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, N, r, p, salt, hash] = STORED.exec(stored ?? '') ?? [];
  if (salt === undefined || hash === undefined) {
    timingSafeEqual(await derive(password, NOBODYS.salt, COST), NOBODYS.hash);
    return false;
  }
  const cost = { ...COST, N: Number(N), r: Number(r), p: Number(p) };
  const given = await derive(password, Buffer.from(salt, 'base64url'), cost);
  return timingSafeEqual(Buffer.from(hash, 'base64url'), given);
}

function derive(password: string, salt: Buffer, cost: typeof COST): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, cost, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
