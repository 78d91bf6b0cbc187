import type pg from 'pg';
import { NotFound, RequestRejected } from '../../basics/errors.ts';
import type { LinkKey } from '../../payments/model/link.ts';
import { IS_HELD } from './link-claims.ts';

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
