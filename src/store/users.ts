import type { PortalUser, PortalUsers, Role } from '../auth/portal-user.ts';
import type { Database } from './open-database.ts';
import { whileUp } from './while-up.ts';

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

/** A merchant's integrator is the merchant's to say. */
const USER = `select u.id, u.username, u.acquirer_id as "acquirerId", u.merchant_id as "merchantId",
  coalesce(u.integrator_id, m.integrator_id) as "integratorId", u.role, u.permissions, u.is_blocked as "isBlocked",
  (extract(epoch from u.password_changed_at) * 1000)::float8 as "passwordChangedAtMs"`;
const FROM = `from users u left join merchants m on m.acquirer_id = u.acquirer_id and m.id = u.merchant_id`;

export function postgresUsers(database: Database): PortalUsers {
  return {
    async find(acquirerId, id) {
      const text = `${USER} ${FROM} where u.acquirer_id = $1 and u.id = $2`;
      const { rows } = await whileUp(database.query<Row>({ name: 'find-user', text, values: [acquirerId, id] }));
      return rows[0] && userOf(rows[0]);
    },
  };
}

function userOf({ acquirerId, integratorId, merchantId, ...user }: Row): PortalUser {
  const owner = {
    acquirerId,
    ...(integratorId !== null && { integratorId }),
    ...(merchantId !== null && { merchantId }),
  };
  return { ...user, owner };
}
