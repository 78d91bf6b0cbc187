import type pg from 'pg';
import type { FactorProof } from '../../auth/totp/second-factor.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { type Change, inAdminCommit, recordChange } from '../settings/admin-commit.ts';

/** A user of an acquirer, or of the installation. */
export interface UserKey {
  readonly acquirerId: number;
  readonly userId: string;
}

export interface ConfirmedEnrolment {
  /** The sealed secret that was shown. */
  readonly pending: Uint8Array;
  /** Step of the code that confirms. */
  readonly step: number;
  readonly recoveryHashes: readonly Uint8Array[];
}

/** Time to scan the code and type the first one. */
const PENDING_SECONDS = 600;

const OF_USER = 'acquirer_id = $1 and user_id = $2';

const BEGIN = `
insert into user_totp (acquirer_id, user_id, pending_secret, pending_at) values ($1, $2, $3, clock_timestamp())
on conflict (acquirer_id, user_id) do update set pending_secret = excluded.pending_secret, pending_at = excluded.pending_at`;

const FIND_PENDING = `
select pending_secret as secret from user_totp
where ${OF_USER} and pending_at > clock_timestamp() - ${PENDING_SECONDS} * interval '1 second'`;

// Only one of two confirmations at once, and only of the secret that was confirmed.
const CONFIRM = `
update user_totp set secret = pending_secret, enrolled_at = clock_timestamp(), last_step = $4, recovery_hashes = $5,
  pending_secret = null, pending_at = null
where ${OF_USER} and pending_secret = $3`;

const USE_STEP = `update user_totp set last_step = $3 where ${OF_USER} and last_step < $3`;
const USE_RECOVERY = `
update user_totp set recovery_hashes = array_remove(recovery_hashes, $3) where ${OF_USER} and $3 = any(recovery_hashes)`;

/** Second factors on Postgres, shared by all processes. */
export class UserTotp {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Keeps a new secret until a code confirms it. The present one remains in use. */
  async begin({ acquirerId, userId }: UserKey, sealed: Uint8Array): Promise<void> {
    await mapConnectionLoss(this.#database.query(BEGIN, [acquirerId, userId, sealed]));
  }

  async findPending({ acquirerId, userId }: UserKey): Promise<Uint8Array | undefined> {
    const found = this.#database.query<{ secret: Uint8Array }>(FIND_PENDING, [acquirerId, userId]);
    return (await mapConnectionLoss(found)).rows[0]?.secret;
  }

  /** Ends all sessions of the user. @returns false if the secret is no longer the pending one */
  confirm(key: UserKey, { pending, step, recoveryHashes }: ConfirmedEnrolment, actor: string): Promise<boolean> {
    const { acquirerId, userId } = key;
    return inAdminCommit(this.#database, acquirerId, async (client) => {
      const { rowCount } = await client.query(CONFIRM, [acquirerId, userId, pending, step, recoveryHashes]);
      if (rowCount !== 1) return false;
      await endSessions(client, key);
      await record(client, key, actor, 'enrolTotp');
      return true;
    });
  }

  /** Uses up what a code proves. @returns false if it was used before */
  async use(key: UserKey, proof: FactorProof, actor: string): Promise<boolean> {
    const { acquirerId, userId } = key;
    if (proof.kind === 'step') {
      const used = await mapConnectionLoss(this.#database.query(USE_STEP, [acquirerId, userId, proof.step]));
      return used.rowCount === 1;
    }
    return inAdminCommit(this.#database, acquirerId, async (client) => {
      const { rowCount } = await client.query(USE_RECOVERY, [acquirerId, userId, proof.codeHash]);
      if (rowCount === 1) await record(client, key, actor, 'useRecoveryCode');
      return rowCount === 1;
    });
  }

  remove(key: UserKey, actor: string): Promise<boolean> {
    return inAdminCommit(this.#database, key.acquirerId, (client) => removeTotp(client, key, actor, 'removeTotp'));
  }
}

// Without the time of the enrolment, tokens from before it would be valid again.
const END_TOKENS = 'update users set password_changed_at = clock_timestamp() where acquirer_id = $1 and id = $2';

/** Removes the second factor within a running commit, and ends all sessions and tokens. @returns false if the user has none */
export async function removeTotp(client: pg.ClientBase, key: UserKey, actor: string, did: string): Promise<boolean> {
  const { rowCount } = await client.query(`delete from user_totp where ${OF_USER}`, [key.acquirerId, key.userId]);
  if (rowCount !== 1) return false;
  await client.query(END_TOKENS, [key.acquirerId, key.userId]);
  await endSessions(client, key);
  await record(client, key, actor, did);
  return true;
}

async function endSessions(client: pg.ClientBase, { acquirerId, userId }: UserKey): Promise<void> {
  await client.query(`delete from console_sessions where ${OF_USER}`, [acquirerId, userId]);
}

function record(client: pg.ClientBase, { acquirerId, userId }: UserKey, actor: string, did: string): Promise<void> {
  const change: Change = { acquirerId, actor };
  return recordChange(client, change, { action: 'act', kind: 'totp', id: userId, before: null, after: { did } });
}
