import type { SessionStore, StoredSession } from '../../auth/portal/portal-session.ts';
import { mapConnectionLoss } from '../postgres/map-connection-loss.ts';
import type { Database } from '../postgres/open-database.ts';

/** Limit per user: a person has a screen or two, and a script that logs in repeatedly must not fill the table. */
const MOST_OF_A_USER = 10;

const BEGIN = `
with crowded as (
  delete from console_sessions where secret_hash in (
    select secret_hash from console_sessions where acquirer_id = $2 and user_id = $3
    order by begun_at desc offset ${MOST_OF_A_USER - 1})
)
insert into console_sessions (secret_hash, acquirer_id, user_id) values ($1, $2, $3)`;

const FIND = `
select acquirer_id as "acquirerId", user_id as "userId", (extract(epoch from begun_at) * 1000)::float8 as "begunAtMs",
  extract(epoch from clock_timestamp() - begun_at)::float8 as "beganSecondsAgo",
  extract(epoch from clock_timestamp() - acted_at)::float8 as "actedSecondsAgo"
from console_sessions where secret_hash = $1`;

/** Sessions of the console, shared by all processes. */
export function postgresConsoleSessions(database: Database): SessionStore {
  return {
    async begin(secretHash, { acquirerId, userId }) {
      await mapConnectionLoss(database.query(BEGIN, [secretHash, acquirerId, userId]));
    },
    async find(secretHash) {
      const { rows } = await mapConnectionLoss(database.query<StoredSession>(FIND, [secretHash]));
      return rows[0];
    },
    async recordAct(secretHash) {
      await mapConnectionLoss(
        database.query('update console_sessions set acted_at = clock_timestamp() where secret_hash = $1', [secretHash]),
      );
    },
    async end(secretHash) {
      await mapConnectionLoss(database.query('delete from console_sessions where secret_hash = $1', [secretHash]));
    },
  };
}
