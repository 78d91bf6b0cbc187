import { actorOfIdentity } from '../../auth/oidc/provider-identity.ts';
import { SESSION_SECONDS } from '../../auth/portal/portal-session.ts';
import { mapConnectionLoss } from '../../store/postgres/map-connection-loss.ts';
import type { Database } from '../../store/postgres/open-database.ts';
import { inAdminCommit, recordChange } from '../../store/settings/admin-commit.ts';
import { SESSION_ID } from './console-sessions.ts';

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
const MOST_LISTED = 500;

// Sessions of removed users are over, and shown until they are removed.
const LIST = `
select ${SESSION_ID} as id, s.acquirer_id as "acquirerId", coalesce(s.username, u.username, '') as username, s.issuer,
  s.begun_at as "beganAt", s.acted_at as "actedAt", s.address, s.agent
from console_sessions s left join users u on u.acquirer_id = s.acquirer_id and u.id = s.user_id and s.issuer is null
where s.begun_at > clock_timestamp() - ${SESSION_SECONDS} * interval '1 second'
  and ($1::int is null or s.acquirer_id = $1) and ($2::uuid is null or s.user_id = $2)
order by s.begun_at desc limit ${MOST_LISTED}`;

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
