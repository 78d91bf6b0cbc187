import { randomUUID, scryptSync } from 'node:crypto';
import type { Role } from '../../src/auth/portal/portal-user.ts';
import type { Tenant } from '../../src/payments/ports/store-ports.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';

export const PASSWORD = 'correct horse battery staple';

export interface TestUser {
  readonly id: string;
  readonly username: string;
}

/** A user who can log in with `PASSWORD`, stored with a cheap hash. */
export async function savePortalUser(
  database: Database,
  { acquirerId, integratorId, merchantId }: Tenant,
  role: Role,
  permissions: readonly string[] = [],
): Promise<TestUser> {
  const id = randomUUID();
  const username = `${role}-${id.slice(0, 8)}@portal.example`;
  // The merchant determines its integrator.
  const owner = [acquirerId, merchantId === undefined ? (integratorId ?? null) : null, merchantId ?? null];
  await database.query(
    `insert into users (acquirer_id, integrator_id, merchant_id, id, username, password_hash, role, permissions, password_changed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now() - interval '1 day')`,
    [...owner, id, username, cheapHash(PASSWORD), role, permissions],
  );
  return { id, username };
}

/** In the gateway's own format, at a hundredth of the cost. */
export function cheapHash(password: string): string {
  const salt = Buffer.alloc(16, 7);
  const hash = scryptSync(password, salt, 32, { N: 1_024, r: 8, p: 1 });
  return ['scrypt', 1_024, 8, 1, salt.toString('base64url'), hash.toString('base64url')].join('$');
}
