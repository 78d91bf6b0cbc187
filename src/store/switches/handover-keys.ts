import type { HandoverKeys, WorkerPublicKey } from '../../card/handover-envelope.ts';
import type { Database } from '../postgres/open-database.ts';

/** Public halves of the workers' handover keys; the database's clock decides which are live. */
export function postgresHandoverKeys(database: Database): HandoverKeys {
  return {
    async publish({ workerId, publicKey, liveForMs }) {
      await database.query(
        `insert into handover_keys (worker_id, public_key, published_at, expires_at)
         values ($1, $2, clock_timestamp(), clock_timestamp() + $3 * interval '1 ms')
         on conflict (worker_id) do update
         set public_key = excluded.public_key, published_at = excluded.published_at, expires_at = excluded.expires_at`,
        [workerId, publicKey, liveForMs],
      );
    },
    async live() {
      const { rows } = await database.query<WorkerPublicKey>(
        `select worker_id as "workerId", public_key as "publicKey" from handover_keys
         where expires_at > clock_timestamp() order by published_at desc`,
      );
      return rows;
    },
  };
}
