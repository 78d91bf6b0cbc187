import type { Database } from '../../src/store/postgres/open-database.ts';
import type { Installation } from './installation.ts';
import { type RawResponse, request } from './requests.ts';
import { outcomeOf } from './responses.ts';
import { untilResponded } from './transactions.ts';

/** Submits a tap that the switch approves; returns the id of the sale when it is at rest. */
export async function sellApproved(installation: Installation, amount: string): Promise<string> {
  const { type, serviceReference } = outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' }));
  if (type !== 'Approved') throw new Error(`${amount} was ${type}`);
  await untilResponded(installation.database, serviceReference);
  return serviceReference;
}

/** Requests a refund, with the integrator's key unless other headers are given. */
export async function refundSale(
  installation: Installation,
  id: string,
  body: object,
  headers?: Readonly<Record<string, string>>,
): Promise<RawResponse> {
  const all = { 'content-type': 'application/json', ...(headers ?? { 'x-api-key': await installation.apiKey() }) };
  return request(installation.url, `/transactions/${id}/refund`, {
    method: 'POST',
    headers: all,
    body: JSON.stringify(body),
  });
}

/** Requests a void, with the integrator's key unless other headers are given. */
export async function voidSale(
  installation: Installation,
  id: string,
  headers?: Readonly<Record<string, string>>,
): Promise<RawResponse> {
  const all = headers ?? { 'x-api-key': await installation.apiKey() };
  return request(installation.url, `/transactions/${id}/void`, { method: 'POST', headers: all });
}

/** The columns of a transaction that refunds and voids change. */
export interface StoredSale {
  readonly type: number;
  readonly disposition: number | null;
  readonly refundedMinor: number;
  readonly voidState: number | null;
  readonly needsReview: boolean;
}

/** @throws if it does not exist */
export async function storedSale(database: Database, id: string): Promise<StoredSale> {
  const { rows } = await database.query<StoredSale>(
    `select type, disposition, refunded_minor as "refundedMinor", void_state as "voidState", needs_review as "needsReview"
     from transactions where id = $1`,
    [id],
  );
  if (!rows[0]) throw new Error(`no transaction ${id}`);
  return rows[0];
}
