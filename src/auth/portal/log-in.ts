import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { MAX_PASSWORD_CHARS } from '#schemas/login';
import { AuthError, Throttled } from '../../basics/errors.ts';
import { ConcurrencyLimit } from '../../basics/limits/concurrency-limit.ts';
import { LruMap } from '../../codecs/bytes/lru-map.ts';
import type { LoginTokens } from '../tokens/login-tokens.ts';
import type { FactorProof, SecondFactors, StoredFactor } from '../totp/second-factor.ts';
import type { PortalUser } from './portal-user.ts';

/** Limits of password attempts. */
export interface LoginLimits {
  /** Attempts for one username, whether the user exists or not (PCI DSS 4.0 8.3.4: at most ten). */
  readonly perUser: number;
  /** Attempts from one address, which an office may share. */
  readonly perAddress: number;
  /** Counted from the first attempt (PCI DSS 4.0 8.3.4: locked for at least 30 minutes). */
  readonly windowSeconds: number;
}

export interface TriesSoFar {
  /** Within the window, including this one. */
  readonly tries: number;
  /** Time until the window ends and counting starts again. */
  readonly secondsLeft: number;
}

/** Attempts counted over all processes. */
export interface LoginTries {
  /** Counts one more attempt before its result is known, so that all of a hundred concurrent ones are counted. */
  count(subject: string, windowSeconds: number): Promise<TriesSoFar>;
  /** An attempt succeeded: resets the user's count and removes the attempt from the address. */
  forgive(user: string, address: string): Promise<void>;
}

/** The form in which usernames are compared. */
export function loginNameOf(username: string): string {
  return username.normalize('NFKC').toLowerCase();
}

/** A username is stored as a hash, because people type passwords into the wrong field. */
export function userSubject(username: string): string {
  return `user ${hash('sha256', username, 'base64url')}`;
}

/**
 * An IPv4 address, or the network of an IPv6 address, because an IPv6 customer has 2^64 addresses (RFC 6177).
 *
 * @param ip in the notation of sockets and trusted proxies
 */
export function addressSubject(ip: string): string {
  const plain = ip
    .toLowerCase()
    .replace(/^::ffff:(?=\d+\.)/, '')
    .replace(/%.*$/, '');
  return isIP(plain) === 6 ? `address ${networkOf(plain)}::/64` : `address ${plain.slice(0, 45)}`;
}

/** The first four groups, written out: `2001:db8::1` -> `2001:db8:0:0`. */
function networkOf(ip: string): string {
  const [left = '', right = ''] = ip.split('::', 2);
  const before = left.split(':').filter(Boolean);
  const missing = 8 - before.length - right.split(':').filter(Boolean).length;
  const isShort = ip.includes('::');
  const groups = isShort
    ? [...before, ...Array<string>(missing).fill('0'), ...right.split(':').filter(Boolean)]
    : before;
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

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

/** A user as the login reads it. */
export interface UserWithPassword extends PortalUser {
  readonly passwordHash: string;
  /** Undefined if the password is enough. */
  readonly secondFactor: StoredFactor | undefined;
}

export interface Logins {
  /** The case of the name is ignored. */
  findByUsername(username: string): Promise<UserWithPassword | undefined>;
  recordLogin(user: PortalUser): Promise<void>;
}

/** Second factors of logins. */
export interface LoginFactors extends Pick<SecondFactors, 'check'> {
  /** Uses up what a code proves. @returns false if it was used before */
  use(user: PortalUser, proof: FactorProof): Promise<boolean>;
}

interface LoginCheckOptions {
  readonly logins: Logins;
  readonly factors: LoginFactors;
  readonly tries: LoginTries;
  readonly limits: LoginLimits;
  readonly monotonicMs?: (() => number) | undefined;
}

interface LoginRequest {
  readonly username: string;
  readonly password: string;
  /** A one-time code or a recovery code, of a user with a second factor. */
  readonly code?: string | undefined;
  /** IP address of the client. */
  readonly ip: string;
}

/** A hash takes a core for 0.3 s and 128 MB; the other cores are for taps. */
const LOGINS_AT_ONCE = 1;
/** About five seconds of waiting on an idle machine. People do not wait longer, and password guessers should. */
const LOGINS_WAITING = 16;

/**
 * For this long, an address that has used up its attempts is refused without another count, so it does not delay
 * other clients.
 */
const SENT_AWAY_MS = 5_000;
/** Addresses that are remembered at once; further ones are counted again. */
const MAX_SENT_AWAY = 4_096;

export type LogIn = (request: LoginRequest) => Promise<Session>;
/** The user of this name and password. */
export type CheckLogin = (request: LoginRequest) => Promise<PortalUser>;

interface Session {
  readonly token: string;
  /** Seconds. */
  readonly expiresIn: number;
}

/**
 * Makes the function that starts sessions by token. @returns a function that throws what `createLoginCheck`'s does
 */
export function createLogIn({
  tokens,
  mustEnrol,
  ...options
}: LoginCheckOptions & {
  readonly tokens: LoginTokens;
  /** Whether the user must set up a second factor first, which only the console offers. */
  readonly mustEnrol: (user: PortalUser) => boolean;
}): LogIn {
  const check = createLoginCheck(options);
  return async (request) => {
    const user = await check(request);
    if (mustEnrol(user)) throw new AuthError('UNAUTHORISED', 'second factor');
    return { token: await tokens.issue(user), expiresIn: tokens.lifetimeSeconds };
  };
}

/**
 * Makes the function that checks logins.
 *
 * A login never reveals whether the user exists, or which part was wrong: an unknown user, a wrong password, a wrong or
 * missing one-time code and a blocked user are refused in the same way, after the same work, and are counted in the same
 * way. A code is used up only by a login that succeeds.
 *
 * The check takes seconds on a busy machine. A password that is reset meanwhile ends the sessions that exist, so a login
 * that began with the earlier one must not begin another.
 *
 * @returns a function that returns the user, and throws AuthError UNAUTHORISED for a failed login, Throttled for one
 * too many, Overloaded if too many wait, StoreUnavailable
 */
export function createLoginCheck({
  logins,
  factors,
  tries,
  limits,
  monotonicMs = () => performance.now(),
}: LoginCheckOptions): CheckLogin {
  const line = new ConcurrencyLimit({ atOnce: LOGINS_AT_ONCE, waitMost: LOGINS_WAITING });
  const sentAway = new LruMap<string, { readonly endsAtMs: number; readonly error: Throttled }>(MAX_SENT_AWAY);

  async function count(subject: string, name: string, most: number): Promise<Throttled | undefined> {
    const { windowSeconds } = limits;
    const { tries: made, secondsLeft } = await tries.count(subject, windowSeconds);
    return made > most ? new Throttled({ name, most, windowSeconds }, secondsLeft, 'TOO_MANY_LOGINS') : undefined;
  }

  async function attempt({ username, password, code }: LoginRequest, address: string): Promise<PortalUser> {
    const name = loginNameOf(username);
    const subject = userSubject(name);
    const ofAddress = await count(address, 'logins-by-address', limits.perAddress);
    if (ofAddress) sentAway.set(address, { endsAtMs: monotonicMs() + SENT_AWAY_MS, error: ofAddress });
    const oneTooMany = ofAddress ?? (await count(subject, 'logins-by-user', limits.perUser));
    if (oneTooMany) throw oneTooMany;
    const user = await logins.findByUsername(name);
    const isRight = await isPassword(password, user?.passwordHash);
    const proof = factors.check(user?.id, user?.secondFactor, code);
    const isComplete = user?.secondFactor === undefined || proof !== undefined;
    if (!user || !isRight || !isComplete || user.isBlocked) throw new AuthError('UNAUTHORISED', 'login');
    if (proof && !(await factors.use(user, proof))) throw new AuthError('UNAUTHORISED', 'code was used');
    const current = await logins.findByUsername(name);
    if (!current || !isSameAs(user, current)) throw new AuthError('UNAUTHORISED', 'user has changed');
    await tries.forgive(subject, address);
    await logins.recordLogin(user);
    return user;
  }

  return async (request) => {
    const address = addressSubject(request.ip);
    const known = sentAway.get(address);
    if (known !== undefined && monotonicMs() < known.endsAtMs) throw known.error;
    // Queues before it counts: a refusal because the queue is full is not an attempt.
    return line.run(() => attempt(request, address));
  };
}

function isSameAs(one: PortalUser, other: PortalUser): boolean {
  return one.id === other.id && !other.isBlocked && one.passwordChangedAtMs === other.passwordChangedAtMs;
}

/** The domain of the user names that only one acquirer creates. */
export interface LoginDomain {
  readonly acquirerId: number;
  /** The domain as in a mail address, in lower case. */
  readonly domain: string;
}

/** Reads `1=bank.example`. @returns undefined for another form */
export function readLoginDomain(text: string): LoginDomain | undefined {
  const [, acquirer, domain] =
    /^([1-9]\d{0,9})=((?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z][a-z0-9-]{0,62})$/.exec(text) ?? [];
  return acquirer === undefined || domain === undefined ? undefined : { acquirerId: Number(acquirer), domain };
}

/** Whether a name of one domain could be one of the other, for different acquirers. */
export function areShared(one: LoginDomain, other: LoginDomain): boolean {
  return one.acquirerId !== other.acquirerId && (isIn(one.domain, other.domain) || isIn(other.domain, one.domain));
}

/**
 * Why an acquirer may not create a user of this name; undefined if it may. It does not depend on the users of other
 * acquirers, so the response does not reveal them: names are unique in the installation, because a login names no
 * acquirer, and no other acquirer has names in its domains.
 */
export function domainFault(domains: readonly LoginDomain[], acquirerId: number, username: string): string | undefined {
  const domain = /@([^@]*)$/.exec(loginNameOf(username))?.[1];
  const own = domains.filter((each) => each.acquirerId === acquirerId);
  if (own.length > 0)
    return domain !== undefined && own.some((each) => isIn(domain, each.domain))
      ? undefined
      : `must end with ${own.map((each) => `@${each.domain}`).join(' or ')}, or with a subdomain of it`;
  const isForeign = domain !== undefined && domains.some((each) => isIn(domain, each.domain));
  return isForeign ? 'must not be in the domain of another acquirer' : undefined;
}

function isIn(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}
