import { randomBytes } from 'node:crypto';
import type { NewUser, StoredUser } from '#schemas/admin-credentials';
import { loginNameOf, userSubject } from '../../auth/portal/login-tries.ts';
import { hashPassword, passwordFault } from '../../auth/portal/password.ts';
import { invalidValue } from '../../basics/errors.ts';
import { ConcurrencyLimit } from '../../basics/limits/concurrency-limit.ts';
import { removeTotp } from '../credentials/user-totp.ts';
import type { Database } from '../postgres/open-database.ts';
import { AcquirerSettings, type Page } from './acquirer-settings.ts';
import { type Change, inAdminCommit, type Reach } from './admin-commit.ts';
import { findOwner, ownerAlone } from './find-owner.ts';
import type { Removal, SettingsTable } from './settings-table.ts';

/** The tills and back offices of a large acquirer. */
const MAX_USERS = 200_000;
/** A hash takes a core for 0.3 s and 128 MB; the other cores serve taps. */
const HASHES_AT_ONCE = 1;
/** About five seconds of waiting on an idle machine. */
const HASHES_WAITING = 16;
/** 120 bits: 20 characters to be typed once. */
const MADE_PASSWORD_BYTES = 15;

interface UserRow extends Omit<NewUser, 'password'> {
  /** A new hash ends the user's sessions. */
  readonly passwordHash: string;
}

const USERS: SettingsTable<UserRow, StoredUser> = {
  kind: 'user',
  table: 'users',
  key: { name: 'id', column: 'id', from: 'database' },
  most: MAX_USERS,
  columns: {
    username: 'username',
    role: 'role',
    permissions: 'permissions',
    integratorId: 'integrator_id',
    merchantId: 'merchant_id',
    blocked: 'is_blocked',
    passwordHash: { column: 'password_hash', as: null },
  },
  reads: { lastLoginAt: 'last_login_at' },
};

/** A user, and the generated password; null if the request gave one. */
export interface CreatedUser {
  readonly stored: StoredUser;
  readonly password: string | null;
}

/** The portal users of acquirers, their integrators and merchants. */
export class UserSettings {
  readonly #database: Database;
  readonly #rows: AcquirerSettings<UserRow, StoredUser>;
  readonly #line = new ConcurrencyLimit({ atOnce: HASHES_AT_ONCE, waitMost: HASHES_WAITING });

  constructor(database: Database) {
    this.#database = database;
    this.#rows = new AcquirerSettings(database, USERS);
  }

  /** Ordered by id. @throws NotFound for an unknown acquirer */
  list(reach: Reach, page: Page): Promise<StoredUser[]> {
    return this.#rows.list(reach, page);
  }

  /** @throws NotFound */
  find(reach: Reach, id: string): Promise<StoredUser> {
    return this.#rows.find(reach, id);
  }

  /**
   * @throws NotFound for an unknown acquirer; RequestRejected for a name in use, a weak password, or an unknown owner
   */
  async add(change: Change, { password: given, ...wanted }: NewUser): Promise<CreatedUser> {
    const username = wanted.username.normalize('NFKC');
    const { made, passwordHash } = await this.#hash(given, username);
    const stored = await inAdminCommit(this.#database, change.acquirerId, async (client) => {
      const owner = ownerAlone(await findOwner(client, change, wanted));
      return this.#rows.addIn(client, change, { ...wanted, ...owner, username, passwordHash });
    });
    return { stored, password: made };
  }

  /** With `blocked: false`, also lifts a lockout by wrong logins. @throws NotFound */
  change(
    change: Change,
    id: string,
    settings: Partial<Pick<NewUser, 'role' | 'permissions' | 'blocked'>>,
  ): Promise<StoredUser> {
    return this.#changeIn(change, id, settings, settings.blocked === false);
  }

  #changeIn(change: Change, id: string, settings: Partial<UserRow>, liftsLockout: boolean): Promise<StoredUser> {
    return inAdminCommit(this.#database, change.acquirerId, async (client) => {
      const changed = await this.#rows.changeIn(client, change, id, settings);
      if (liftsLockout) await client.query('delete from login_tries where subject = $1', [subjectOf(changed)]);
      return changed;
    });
  }

  /**
   * Ends the user's sessions, and lifts a lockout by wrong logins. @returns the generated password, null if one was given. @throws NotFound, RequestRejected
   */
  async resetPassword(change: Change, id: string, given: string | null): Promise<string | null> {
    const { username } = await this.find(change, id);
    const { made, passwordHash } = await this.#hash(given, username);
    await this.#changeIn(change, id, { passwordHash }, true);
    return made;
  }

  /**
   * Removes the one-time codes of a user who has lost them, and ends the user's sessions. The user must set up new ones if
   * the installation requires them.
   *
   * @returns false if the user has none
   * @throws NotFound
   */
  async resetTotp(change: Change, id: string): Promise<boolean> {
    const { acquirerId, actor } = change;
    return inAdminCommit(this.#database, acquirerId, async (client) => {
      await this.#rows.findIn(client, change, id);
      return removeTotp(client, { acquirerId, userId: id }, actor, 'resetTotp');
    });
  }

  /** @throws NotFound */
  remove(change: Change, id: string): Promise<Removal | undefined> {
    return this.#rows.remove(change, id);
  }

  /** @throws RequestRejected for a password that is easily guessed; Overloaded if too many are being set */
  async #hash(given: string | null, username: string) {
    const made = given === null ? randomBytes(MADE_PASSWORD_BYTES).toString('base64url') : null;
    const fault = given !== null && passwordFault(given, username);
    if (fault) throw invalidValue('password', fault);
    const passwordHash = await this.#line.run(() => hashPassword(given ?? made!));
    return { made, passwordHash };
  }
}

/** The name under which the user's wrong logins are counted. */
function subjectOf({ username }: Pick<StoredUser, 'username'>): string {
  return userSubject(loginNameOf(username));
}
