import type { AccountAct } from '#schemas/console';
import type { SavedView } from '#schemas/console-views';
import { type CheckLogin, type LoginLimits, type LoginTries, userSubject } from '../auth/portal/log-in.ts';
import { actorOf, type PortalSession } from '../auth/portal/portal-session.ts';
import {
  createRecoveryCodes,
  createTotpSecret,
  type EnrolmentCode,
  enrolmentCode,
  type SecondFactors,
} from '../auth/totp/second-factor.ts';
import { AuthError, invalidValue, NotFound, RequestRejected, Throttled } from '../basics/errors.ts';
import type { UserTotp } from '../store/credentials/user-totp.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { endSessions, type ListedSession, listSessions } from './store/console-sessions.ts';
import { listViews, removeView, saveView, type ViewOwner } from './store/saved-views.ts';

export interface AccountParts {
  readonly database: Database;
  readonly checkLogin: CheckLogin;
  readonly factors: SecondFactors;
  readonly totp: UserTotp;
  readonly tries: LoginTries;
  readonly limits: LoginLimits;
}

/** What a person sees about the own account. */
export interface ShownAccount {
  /** The identity provider that the person signed in with; null for a password. */
  readonly issuer: string | null;
  readonly hasSecondFactor: boolean;
  readonly mustEnrol: boolean;
  /** Whether the person sees and ends sessions of others. */
  readonly isAdmin: boolean;
  readonly sessions: readonly ShownSession[];
}

export type ShownSession = ListedSession & { readonly isThis: boolean };

/** The result of an act: a code to scan, recovery codes to keep, how many sessions ended, or the saved views. */
export type AccountResult =
  | EnrolmentCode
  | { readonly recoveryCodes: readonly string[] }
  | { readonly ended: number }
  | { readonly views: readonly SavedView[] };

/** The accounts of people at the console: their sessions and second factors. */
export class Accounts {
  readonly #parts: AccountParts;

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  async show(session: PortalSession): Promise<ShownAccount> {
    const { user, mustEnrol } = session;
    return {
      ...{ issuer: user.provider?.issuer ?? null, hasSecondFactor: user.hasSecondFactor, mustEnrol },
      isAdmin: isAdmin(session),
      sessions: shownTo(session, await this.#ownSessions(session)),
    };
  }

  /** Sessions of all users that an administrator is responsible for. @throws AuthError FORBIDDEN for others */
  async listAll(session: PortalSession): Promise<readonly ShownSession[]> {
    if (!isAdmin(session)) throw new AuthError('FORBIDDEN', 'role');
    return shownTo(session, await listSessions(this.#parts.database, { acquirerId: session.acquirerId }));
  }

  /**
   * @param ip address of the client, for the limits of logins
   * @throws NotFound for a session that is over or not in sight; RequestRejected for a wrong password or code; Throttled
   */
  async do(session: PortalSession, act: AccountAct, ip: string): Promise<AccountResult> {
    switch (act.act) {
      case 'endSession':
        return this.#endSession(session, act.id);
      case 'endOtherSessions':
        return this.#endOthers(session);
      case 'beginTotp':
        return this.#beginTotp(session, act, ip);
      case 'confirmTotp':
        return this.#confirmTotp(session, act.code);
      case 'removeTotp':
        return this.#removeTotp(session, act, ip);
      case 'saveView':
        await saveView(this.#parts.database, viewOwnerOf(session), act);
        return this.views(session);
      case 'removeView':
        await removeView(this.#parts.database, viewOwnerOf(session), act.name);
        return this.views(session);
    }
  }

  /** The views that the person has saved. */
  async views(session: PortalSession): Promise<{ readonly views: readonly SavedView[] }> {
    return { views: await listViews(this.#parts.database, viewOwnerOf(session)) };
  }

  async #endSession(session: PortalSession, id: string): Promise<AccountResult> {
    const { database } = this.#parts;
    const inSight = isAdmin(session)
      ? await listSessions(database, { acquirerId: session.acquirerId })
      : await this.#ownSessions(session);
    const wanted = inSight.filter((each) => each.id === id);
    const ended = await endSessions(database, wanted, { actor: actorOf(session), did: 'endSession' });
    if (ended === 0) throw new NotFound();
    return { ended };
  }

  async #endOthers(session: PortalSession): Promise<AccountResult> {
    const others = (await this.#ownSessions(session)).filter(({ id }) => id !== session.id);
    const author = { actor: actorOf(session), did: 'endOtherSessions' };
    return { ended: await endSessions(this.#parts.database, others, author) };
  }

  /** The present second factor stays in use until the new one is confirmed. */
  async #beginTotp(session: PortalSession, given: GivenLogin, ip: string): Promise<AccountResult> {
    const { factors, totp } = this.#parts;
    await this.#authenticate(session, given, ip);
    const { id, username } = session.user;
    const secret = createTotpSecret();
    const code = enrolmentCode(username, secret);
    await totp.begin(keyOf(session), factors.seal(id, secret));
    return code;
  }

  async #confirmTotp(session: PortalSession, code: string): Promise<AccountResult> {
    const { factors, totp, tries, limits } = this.#parts;
    const { id } = session.user;
    // No username contains a NUL, so no login counts here.
    const { tries: made, secondsLeft } = await tries.count(userSubject(`totp\0${id}`), limits.windowSeconds);
    const quota = { name: 'codes-by-user', most: limits.perUser, windowSeconds: limits.windowSeconds };
    if (made > limits.perUser) throw new Throttled(quota, secondsLeft, 'TOO_MANY_LOGINS');
    const pending = await totp.findPending(keyOf(session));
    if (pending === undefined) throw new RequestRejected('NO_PENDING_ENROLMENT');
    const proof = factors.check(id, { secret: pending, recoveryHashes: [] }, code);
    if (proof?.kind !== 'step') throw invalidValue('code', 'is wrong; wait for the next one if it was about to change');
    const { codes, hashes } = createRecoveryCodes();
    const confirmed = { pending, step: proof.step, recoveryHashes: hashes };
    if (!(await totp.confirm(keyOf(session), confirmed, actorOf(session))))
      throw new RequestRejected('NO_PENDING_ENROLMENT');
    return { recoveryCodes: codes };
  }

  async #removeTotp(session: PortalSession, given: GivenLogin, ip: string): Promise<AccountResult> {
    await this.#authenticate(session, given, ip);
    if (!(await this.#parts.totp.remove(keyOf(session), actorOf(session)))) throw new NotFound();
    return { ended: 1 };
  }

  /** With the limits of logins: a screen that was left open must not be enough to replace a second factor. */
  async #authenticate({ user }: PortalSession, { password, code }: GivenLogin, ip: string): Promise<void> {
    if (user.provider) throw new RequestRejected('ACCOUNT_OF_PROVIDER');
    const found = await this.#parts.checkLogin({ username: user.username, password, code, ip }).catch((error) => {
      throw error instanceof AuthError ? invalidValue('password', 'or the code is wrong') : error;
    });
    if (found.id !== user.id) throw new AuthError('FORBIDDEN', 'user');
  }

  #ownSessions({ user }: PortalSession): Promise<ListedSession[]> {
    return listSessions(this.#parts.database, { acquirerId: user.owner.acquirerId, userId: user.id });
  }
}

type GivenLogin = Pick<Extract<AccountAct, { act: 'beginTotp' }>, 'password' | 'code'>;

function keyOf({ user: { id, owner } }: PortalSession) {
  return { acquirerId: owner.acquirerId, userId: id };
}

function viewOwnerOf({ user }: PortalSession): ViewOwner {
  return { acquirerId: user.owner.acquirerId, personId: user.id, isUser: user.provider === undefined };
}

function isAdmin({ user, mustEnrol }: PortalSession): boolean {
  return user.role === 'admin' && !mustEnrol;
}

function shownTo({ id }: PortalSession, sessions: readonly ListedSession[]): ShownSession[] {
  return sessions.map((session) => ({ ...session, isThis: session.id === id }));
}
