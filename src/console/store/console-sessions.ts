import type { ProviderIdentity } from '../../auth/oidc/provider-identity.ts';
import type { SessionStore, StoredSession } from '../../auth/portal/portal-session.ts';
import { mapConnectionLoss } from '../../store/postgres/map-connection-loss.ts';
import type { Database } from '../../store/postgres/open-database.ts';

/** Limit per user: a person has a screen or two, and a script that logs in repeatedly must not fill the table. */
const MOST_OF_A_USER = 10;
const MAX_ADDRESS_CHARS = 64;
const MAX_AGENT_CHARS = 255;

// A person whose role at the provider has changed must not keep an older one.
const BEGIN = `
with crowded as (
  delete from console_sessions where secret_hash in (
    select secret_hash from console_sessions where acquirer_id = $2 and user_id = $3
    order by begun_at desc offset ${MOST_OF_A_USER - 1})
), outdated as (
  delete from console_sessions where user_id = $3 and issuer is not null and (acquirer_id, role) is distinct from ($2, $9)
)
insert into console_sessions (secret_hash, acquirer_id, user_id, address, agent, issuer, subject, username, role)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/** Names a session where its secret must not appear: a hash of the hash, so that neither opens it. */
export const SESSION_ID = `encode(sha256(secret_hash), 'hex')`;

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
