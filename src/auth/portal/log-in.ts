import { AuthError, Throttled } from '../../basics/errors.ts';
import { ConcurrencyLimit } from '../../basics/limits/concurrency-limit.ts';
import { LruMap } from '../../codecs/bytes/lru-map.ts';
import type { LoginTokens } from '../tokens/login-tokens.ts';
import type { FactorProof, SecondFactors, StoredFactor } from '../totp/second-factor.ts';
import { addressSubject, type LoginLimits, type LoginTries, loginNameOf, userSubject } from './login-tries.ts';
import { isPassword } from './password.ts';
import type { PortalUser } from './portal-user.ts';

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

export interface LoginCheckOptions {
  readonly logins: Logins;
  readonly factors: LoginFactors;
  readonly tries: LoginTries;
  readonly limits: LoginLimits;
  readonly monotonicMs?: (() => number) | undefined;
}

export interface LogInOptions extends LoginCheckOptions {
  readonly tokens: LoginTokens;
  /** Whether the user must set up a second factor first, which only the console offers. */
  readonly mustEnrol: (user: PortalUser) => boolean;
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
export function createLogIn({ tokens, mustEnrol, ...options }: LogInOptions): LogIn {
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
