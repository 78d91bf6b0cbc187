import type pg from 'pg';
import { AuthError, invalidValue } from '../../basics/errors.ts';
import type { Reach } from './admin-commit.ts';

/** The owner that a request names for a credential: a merchant, an integrator, or with neither the acquirer itself. */
export interface NamedOwner {
  readonly integratorId: number | null;
  readonly merchantId: string | null;
}

/** The owner without the integrator of a merchant, for tables in which the merchant determines it. */
export function ownerAlone({ integratorId, merchantId }: NamedOwner): NamedOwner {
  return { merchantId, integratorId: merchantId === null ? integratorId : null };
}

/**
 * The owner of a new credential, including the merchant's integrator. An integrator may issue credentials only to its
 * merchants.
 *
 * @throws RequestRejected (INVALID_VALUES) if the caller has no such integrator or merchant; AuthError FORBIDDEN
 */
export async function findOwner(client: pg.ClientBase, reach: Reach, named: NamedOwner): Promise<NamedOwner> {
  const { acquirerId, integratorId: own } = reach;
  const { integratorId, merchantId } = named;
  if (merchantId !== null) {
    const { rows } = await client.query<{ integratorId: number }>(
      `select integrator_id as "integratorId" from merchants where acquirer_id = $1 and id = $2`,
      [acquirerId, merchantId],
    );
    const found = rows[0]?.integratorId;
    const isMeant = (wanted: number | null | undefined) => wanted === undefined || wanted === null || wanted === found;
    if (found !== undefined && isMeant(integratorId) && isMeant(own)) return { integratorId: found, merchantId };
    throw invalidValue('merchantId', 'must be a merchant of the integrator');
  }
  if (own !== undefined) throw new AuthError('FORBIDDEN', 'owner');
  if (integratorId === null) return named;
  await checkIntegrator(client, acquirerId, integratorId);
  return named;
}

/** @throws RequestRejected (INVALID_VALUES) if the acquirer has no such integrator */
export async function checkIntegrator(client: pg.ClientBase, acquirerId: number, integratorId: number): Promise<void> {
  const text = 'select from integrators where acquirer_id = $1 and id = $2';
  const { rowCount } = await client.query(text, [acquirerId, integratorId]);
  if (rowCount === 0) throw invalidValue('integratorId', 'must be an integrator of the acquirer');
}
