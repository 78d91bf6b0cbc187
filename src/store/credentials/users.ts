import type { Logins } from '../../auth/portal/log-in.ts';
import type { PortalUser, PortalUsers, Role } from '../../auth/portal/portal-user.ts';
import { mapConnectionLoss } from '../postgres/map-connection-loss.ts';
import type { Database } from '../postgres/open-database.ts';

interface Row {
  readonly id: string;
  readonly username: string;
  readonly acquirerId: number;
  readonly integratorId: number | null;
  readonly merchantId: string | null;
  readonly role: Role;
  readonly permissions: string[];
  readonly isBlocked: boolean;
  readonly passwordChangedAtMs: number;
}

/** A merchant's row determines its integrator. A user is also blocked if the merchant, integrator or acquirer is. */
const USER = `select u.id, u.username, u.acquirer_id as "acquirerId", u.merchant_id as "merchantId",
  coalesce(u.integrator_id, m.integrator_id) as "integratorId", u.role, u.permissions, 
  u.is_blocked or coalesce(m.is_blocked, false) or coalesce(i.is_blocked, false) or coalesce(a.is_blocked, false) as "isBlocked",
  (extract(epoch from u.password_changed_at) * 1000)::float8 as "passwordChangedAtMs"`;
const FROM = `from users u left join merchants m on m.acquirer_id = u.acquirer_id and m.id = u.merchant_id
  left join integrators i on i.acquirer_id = u.acquirer_id and i.id = coalesce(u.integrator_id, m.integrator_id)
  left join acquirers a on a.id = u.acquirer_id`;

export function postgresUsers(database: Database): PortalUsers & Logins {
  return {
    async find(acquirerId, id) {
      const text = `${USER} ${FROM} where u.acquirer_id = $1 and u.id = $2`;
      const { rows } = await mapConnectionLoss(
        database.query<Row>({ name: 'find-user', text, values: [acquirerId, id] }),
      );
      return rows[0] && userOf(rows[0]);
    },
    async findByUsername(username) {
      const text = `${USER}, u.password_hash as "passwordHash" ${FROM} where lower(u.username) = lower($1)`;
      const query = { name: 'find-login', text, values: [username] };
      const { rows } = await mapConnectionLoss(database.query<Row & { readonly passwordHash: string }>(query));
      return rows[0] && { ...userOf(rows[0]), passwordHash: rows[0].passwordHash };
    },
    async recordLogin({ id, owner: { acquirerId } }) {
      const text = 'update users set last_login_at = now() where acquirer_id = $1 and id = $2';
      await mapConnectionLoss(database.query({ name: 'record-login', text, values: [acquirerId, id] }));
    },
  };
}

function userOf(row: Row): PortalUser {
  const { id, username, acquirerId, integratorId, merchantId, role, permissions, isBlocked, passwordChangedAtMs } = row;
  const owner = {
    acquirerId,
    ...(integratorId !== null && { integratorId }),
    ...(merchantId !== null && { merchantId }),
  };
  return { id, username, owner, role, permissions, isBlocked, passwordChangedAtMs };
}
