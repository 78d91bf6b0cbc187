import { hash } from 'node:crypto';
import { actorOfIdentity, type ProviderIdentity } from '../../auth/oidc/oidc-provider.ts';
import { SIGN_IN_SECONDS } from '../../auth/oidc/pending-sign-in.ts';
import { SESSION_SECONDS, type SessionStore, type StoredSession } from '../../auth/portal/portal-session.ts';
import { type Database, mapConnectionLoss } from '../../store/postgres/open-database.ts';
import { inAdminCommit, recordChange } from '../../store/settings/admin-commit.ts';

/** Limit per user: a person has a screen or two, and a script that logs in repeatedly must not fill the table. */
const MAX_OF_A_USER = 10;
const MAX_ADDRESS_CHARS = 64;
const MAX_AGENT_CHARS = 255;

// A person whose role at the provider has changed must not keep an older one.
const BEGIN = `
with crowded as (
  delete from console_sessions where secret_hash in (
    select secret_hash from console_sessions where acquirer_id = $2 and user_id = $3
    order by begun_at desc offset ${MAX_OF_A_USER - 1})
), outdated as (
  delete from console_sessions where user_id = $3 and issuer is not null and (acquirer_id, role) is distinct from ($2, $9)
)
insert into console_sessions (secret_hash, acquirer_id, user_id, address, agent, issuer, subject, username, role)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/** Names a session where its secret must not appear: a hash of the hash, so that neither opens it. */
const SESSION_ID = `encode(sha256(secret_hash), 'hex')`;

const FIND = `
select ${SESSION_ID} as id, acquirer_id as "acquirerId", user_id as "userId", (extract(epoch from begun_at) * 1000)::float8 as "begunAtMs",
  extract(epoch from clock_timestamp() - begun_at)::float8 as "beganSecondsAgo",
  extract(epoch from clock_timestamp() - acted_at)::float8 as "actedSecondsAgo",
  issuer, subject, username, role,
  exists (select from acquirers a where a.id = acquirer_id and a.is_blocked) as "isOfBlockedAcquirer"
from console_sessions where secret_hash = $1`;

type Row = Omit<StoredSession, 'identity'> & {
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly username: string | null;
  readonly role: ProviderIdentity['role'] | null;
};

/** Sessions of the console, shared by all processes. */
export function postgresConsoleSessions(database: Database): SessionStore {
  return {
    async begin(secretHash, { acquirerId, userId, identity, address, agent }) {
      const origin = [address.slice(0, MAX_ADDRESS_CHARS), agent.slice(0, MAX_AGENT_CHARS)];
      const { issuer = null, subject = null, name = null, role = null } = identity ?? {};
      const values = [secretHash, acquirerId, userId, ...origin, issuer, subject, name, role];
      await mapConnectionLoss(database.query(BEGIN, values));
    },
    async find(secretHash) {
      const { rows } = await mapConnectionLoss(database.query<Row>(FIND, [secretHash]));
      return rows[0] && storedSession(rows[0]);
    },
    async recordAct(secretHash) {
      await mapConnectionLoss(
        database.query('update console_sessions set acted_at = clock_timestamp() where secret_hash = $1', [secretHash]),
      );
    },
    async end(secretHash) {
      const text = 'delete from console_sessions where secret_hash = $1 returning issuer';
      const { rows } = await mapConnectionLoss(database.query<Pick<Row, 'issuer'>>(text, [secretHash]));
      return { isOfProvider: rows.some(({ issuer }) => issuer !== null) };
    },
  };
}

function storedSession({ issuer, subject, username, role, ...session }: Row): StoredSession {
  if (issuer === null || subject === null || username === null || role === null)
    return { ...session, identity: undefined };
  return { ...session, identity: { issuer, subject, name: username, role, acquirerId: session.acquirerId } };
}

/** A session for display. */
export interface ListedSession {
  readonly id: string;
  readonly acquirerId: number;
  readonly username: string;
  /** Null for a user with a password. */
  readonly issuer: string | null;
  readonly beganAt: Date;
  readonly actedAt: Date;
  readonly address: string;
  readonly agent: string;
}

/** Which sessions: of one user, of an acquirer's users, or all. */
export interface SessionsOf {
  readonly acquirerId?: number | undefined;
  readonly userId?: string | undefined;
}

/** More people than work at an installation. */
const MAX_LISTED = 500;

// Sessions of removed users are over, and shown until they are removed.
const LIST = `
select ${SESSION_ID} as id, s.acquirer_id as "acquirerId", coalesce(s.username, u.username, '') as username, s.issuer,
  s.begun_at as "beganAt", s.acted_at as "actedAt", s.address, s.agent
from console_sessions s left join users u on u.acquirer_id = s.acquirer_id and u.id = s.user_id and s.issuer is null
where s.begun_at > clock_timestamp() - ${SESSION_SECONDS} * interval '1 second'
  and ($1::int is null or s.acquirer_id = $1) and ($2::uuid is null or s.user_id = $2)
order by s.begun_at desc limit ${MAX_LISTED}`;

/** Newest first. */
export async function listSessions(database: Database, { acquirerId, userId }: SessionsOf): Promise<ListedSession[]> {
  const values = [acquirerId ?? null, userId ?? null];
  return (await mapConnectionLoss(database.query<ListedSession>(LIST, values))).rows;
}

/** Ends some of a person's sessions, and records who did it. @returns how many ended */
export async function endSessions(
  database: Database,
  sessions: readonly ListedSession[],
  { actor, did }: { readonly actor: string; readonly did: string },
): Promise<number> {
  let ended = 0;
  for (const [acquirerId, ofAcquirer] of Map.groupBy(sessions, (session) => session.acquirerId))
    ended += await inAdminCommit(database, acquirerId, async (client) => {
      const ids = ofAcquirer.map(({ id }) => id);
      const text = `delete from console_sessions s where acquirer_id = $1 and ${SESSION_ID} = any($2)
        returning issuer, subject, user_id`;
      type Ended = { issuer: string | null; subject: string | null; user_id: string };
      const { rows } = await client.query<Ended>(text, [acquirerId, ids]);
      for (const { issuer, subject, user_id: userId } of rows) {
        const of = issuer !== null && subject !== null ? actorOfIdentity({ issuer, subject }) : userId;
        const event = { action: 'act', kind: 'session', id: of, before: null, after: { did } } as const;
        await recordChange(client, { acquirerId, actor }, event);
      }
      return rows.length;
    });
  return ended;
}

/** Twice the time of a sign-in: clocks of processes may differ from that of the database. */
const KEPT_SECONDS = 2 * SIGN_IN_SECONDS;
/** Expired rows removed with each sign-in: more than one adds, so they never accumulate. */
const SWEPT_WITH_EACH = 10;

const FINISH = `
with swept as (
  delete from console_sign_ins where state_hash in (
    select state_hash from console_sign_ins where finished_at < clock_timestamp() - ${KEPT_SECONDS} * interval '1 second'
    order by finished_at limit ${SWEPT_WITH_EACH} for update skip locked)
)
insert into console_sign_ins (state_hash) values ($1) on conflict do nothing`;

/**
 * Records that a person has signed in with the identity provider, once for each state.
 *
 * @returns false if the sign-in of this state has succeeded before
 * @throws StoreUnavailable, NotFound if the mapping of roles names an acquirer that does not exist
 */
export type RecordSignIn = (state: string, identity: ProviderIdentity) => Promise<boolean>;

export function createSignInRecorder(database: Database): RecordSignIn {
  return (state, identity) =>
    inAdminCommit(database, identity.acquirerId, async (client) => {
      const { rowCount } = await client.query(FINISH, [hash('sha256', state, 'buffer')]);
      if (rowCount !== 1) return false;
      const { acquirerId, role, name, subject } = identity;
      const change = { acquirerId, actor: actorOfIdentity(identity) };
      const after = { did: 'signIn', role, name };
      await recordChange(client, change, { action: 'act', kind: 'session', id: subject, before: null, after });
      return true;
    });
}
