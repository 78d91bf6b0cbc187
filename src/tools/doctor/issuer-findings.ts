import type { Database } from '../../store/postgres/open-database.ts';
import { type Finding, good, warning } from './finding.ts';

const SHARED = `
select issuer, array_agg(distinct acquirer_id order by acquirer_id) as acquirers,
  array_agg(distinct acquirer_id order by acquirer_id) filter (where proven_at is null) as unproven
from issuer_keys where revoked_at is null
group by issuer having count(distinct acquirer_id) > 1 order by issuer limit 20`;

/**
 * Names of issuers that several acquirers have registered; only the operator sees this. It is correct for an
 * integrator that works for both. Otherwise one acquirer may try to accept the tokens of another one's integrator.
 */
export async function issuerFindings(database: Database): Promise<Finding[]> {
  const { rows } = await database.query<{ issuer: string; acquirers: number[]; unproven: number[] | null }>(SHARED);
  if (rows.length === 0) return [good('issuers', 'each is registered by one acquirer')];
  return rows.map(({ issuer, acquirers, unproven }) =>
    warning(
      `issuer ${issuer}`,
      `acquirers ${acquirers.join(', ')} have registered it${unproven ? `, ${unproven.join(', ')} without a proof of the private key` : ''}`,
      'check with the owner of the issuer; without the claim acquirerId, its tokens are refused unless their key is proven for one acquirer',
    ),
  );
}
