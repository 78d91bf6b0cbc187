import type pg from 'pg';
import { NotFound, RequestRejected } from '../../basics/errors.ts';
import type { StorableJob } from '../../payments/model/decision.ts';
import type { LinkKey, NewLink } from '../../payments/model/link.ts';
import { ColumnBatch, type ColumnList, columnNames, columnValues } from '../postgres/column-batch.ts';
import type { JobsInCommit } from '../transactions/jobs-in-commit.ts';
import { IS_HELD, IS_REFERENCE_HELD } from './link-claims.ts';

/** A link on its way to the database; the customer named in its mandate is sealed. */
export interface Sealed {
  readonly link: NewLink;
  readonly sealedMandate: Uint8Array | null;
}

/**
 * A job that starts this long after the expiry finds the link expired despite small differences between two clocks.
 */
const EXPIRY_AFTER_SECONDS = 0.1;

const COLUMNS = {
  acquirerId: 'integer',
  id: 'uuid',
  integratorId: 'integer',
  merchantId: 'text',
  kind: 'text',
  type: 'integer',
  paymentReference: 'text',
  amountMinor: 'bigint',
  currency: 'text',
  isConsumerApp: 'boolean',
  sealedMandate: 'bytes',
  expiresAtMs: 'ms',
  requestHash: 'bytes',
} as const satisfies ColumnList;

const batch = new ColumnBatch({ ...COLUMNS, xTid: 'text' });

const NAMED = `l.acquirer_id = x.acquirer_id and l.merchant_id = x.merchant_id and l.payment_reference = x.payment_reference
  and not l.is_expired and l.expires_at <= clock_timestamp()`;
const REFERENCES = 'unnest($1::integer[], $2::text[], $3::text[]) as x(acquirer_id, merchant_id, payment_reference)';

// First the locks: the next statement then sees the taps of transactions that held the locks before.
const LOCK_PAST = `select from links l, ${REFERENCES} where ${NAMED} order by l.acquirer_id, l.id for update of l`;

// An expired link frees its reference before its job has run.
const FREE_PAST = `update links l set is_expired = true, updated_at = clock_timestamp() from ${REFERENCES}
  where ${NAMED} and not ${IS_HELD}`;

// A tap of the SDK that took the reference, and may have taken the money, leaves nothing to request.
const CREATE = `
with x as (${batch.rows})
insert into links (${columnNames(COLUMNS)}, x_tid)
select ${columnValues(COLUMNS)}, coalesce(x."xTid", (select min(p.x_tid) from terminals p
  where p.acquirer_id = x."acquirerId" and p.merchant_id = x."merchantId"))
from x
where not ${IS_REFERENCE_HELD(['x."acquirerId"', 'x."merchantId"', 'x."paymentReference"'], 'true')}
on conflict do nothing
returning id, extract(epoch from expires_at - clock_timestamp())::float8 as "secondsLeft"`;

/** Stores links with the jobs that will expire them; `exists` if the paymentReference is not available. */
export async function createLinks(
  client: pg.ClientBase,
  links: readonly Sealed[],
  jobs: JobsInCommit,
): Promise<('created' | 'exists')[]> {
  await freeReferences(client, links);
  const records = links.map(({ link, sealedMandate }) => ({
    ...link,
    sealedMandate,
    requestHash: link.requestHash ?? null,
  }));
  const { rows } = await client.query<{ id: string; secondsLeft: number }>({
    name: 'create-links',
    text: CREATE,
    values: batch.values(records),
  });
  const secondsLeft = new Map(rows.map((row) => [row.id, row.secondsLeft]));
  const created = links.filter(({ link }) => secondsLeft.has(link.id));
  const expiries = created.map(
    ({ link: { acquirerId, id } }): StorableJob => ({
      queue: 'expire-link',
      data: { acquirerId, id },
      startAfterSeconds: secondsLeft.get(id)! + EXPIRY_AFTER_SECONDS,
    }),
  );
  if (expiries.length > 0) await jobs.enqueue(client, expiries);
  return links.map(({ link }) => (secondsLeft.has(link.id) ? 'created' : 'exists'));
}

async function freeReferences(client: pg.ClientBase, links: readonly Sealed[]): Promise<void> {
  const references = [
    links.map(({ link }) => link.acquirerId),
    links.map(({ link }) => link.merchantId),
    links.map(({ link }) => link.paymentReference),
  ];
  const { rowCount } = await client.query({ name: 'lock-past-links', text: LOCK_PAST, values: references });
  if (rowCount) await client.query({ name: 'free-past-links', text: FREE_PAST, values: references });
}

const LOCK = 'select from links where acquirer_id = $1 and id = $2 for update';

// A separate statement: only that one sees the tap that the previous lock holder has committed.
const FIND = `
select l.is_expired or l.expires_at <= clock_timestamp() as "isPast", ${IS_HELD} as "isHeld", l.cancellation_id as "cancellationId"
from links l where l.acquirer_id = $1 and l.id = $2`;

const CANCEL = `
update links set is_expired = true, expires_at = clock_timestamp(), cancellation_id = $3, updated_at = clock_timestamp()
where acquirer_id = $1 and id = $2`;

interface Found {
  readonly isPast: boolean;
  readonly isHeld: boolean;
  readonly cancellationId: string | null;
}

/**
 * Expires a link now, with the effect of its own time: no tap can pay it, and its paymentReference becomes available.
 * Runs in the caller's transaction, and its lock makes a tap that claims the link wait.
 *
 * @param cancellationId of the form; a form that is sent again finds its own cancellation
 * @returns `repeated` if this form has cancelled the link before
 * @throws NotFound; RequestRejected (LINK_NOT_CANCELLABLE if a tap holds the link, LINK_EXPIRED)
 */
export async function cancelLink(
  client: pg.ClientBase,
  { acquirerId, id }: LinkKey,
  cancellationId: string,
): Promise<'cancelled' | 'repeated'> {
  const { rowCount } = await client.query(LOCK, [acquirerId, id]);
  if (rowCount === 0) throw new NotFound();
  const { rows } = await client.query<Found>(FIND, [acquirerId, id]);
  const found = rows[0]!;
  if (found.cancellationId === cancellationId) return 'repeated';
  if (found.isHeld) throw new RequestRejected('LINK_NOT_CANCELLABLE');
  if (found.isPast) throw new RequestRejected('LINK_EXPIRED');
  await client.query(CANCEL, [acquirerId, id, cancellationId]);
  return 'cancelled';
}
