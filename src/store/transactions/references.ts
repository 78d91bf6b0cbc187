import { mapConnectionLoss } from '../postgres/map-connection-loss.ts';
import type { Database } from '../postgres/open-database.ts';

/** Two look-ups in unique indexes. */
const IS_FREE = `select not exists (
    select from transactions where acquirer_id = $1 and merchant_id = $2 and merchant_reference = $3)
  and not exists (
    select from links where acquirer_id = $1 and merchant_id = $2 and payment_reference = $3 and not is_expired) as free`;

/** Whether no transaction and no live or paid link or intent of the merchant has the reference. */
export async function isReferenceFree(
  database: Database,
  acquirerId: number,
  merchantId: string,
  reference: string,
): Promise<boolean> {
  const query = { name: 'is-reference-free', text: IS_FREE, values: [acquirerId, merchantId, reference] };
  const { rows } = await mapConnectionLoss(database.query<{ free: boolean }>(query));
  return rows[0]!.free;
}
