import type { StatusId } from '../../payments/model/status.ts';
import { fromDay } from '../../store/postgres/partitions.ts';
import { readEntries, type StoredEntry } from '../../store/transactions/stored-entries.ts';
import type { Books } from './books.ts';
import { faultOfTrail, type TrailEntryRow } from './fault-of-trail.ts';
import { type Finding, MAX_NAMED, type Violation } from './finding.ts';

/** Audit rows in memory at once. */
const FETCH_ROWS = 5_000;

interface TrailRow {
  readonly acquirerId: number;
  readonly id: string;
  readonly status: StatusId;
  readonly attempt: number | null;
  readonly moves: readonly StoredEntry[] | null;
}

// Includes rows without a trail, because their audit entries were lost.
const DECLARE = `declare trails no scroll cursor for
  select t.acquirer_id as "acquirerId", t.id, t.status, e.attempt, e.moves
  from transactions t
  left join transaction_events e on e.acquirer_id = t.acquirer_id and e.transaction_id = t.id
    and ($1::timestamptz is null or ${fromDay('$1::timestamptz')})
  where t.created_at >= greatest($1::timestamptz, (select up_to from purge_marks where kind = 'audit'), '-infinity')
  order by t.acquirer_id, t.id, e.id`;

/**
 * I6: every audit trail is a path of declared transitions and ends in the status of its row. A cursor reads one
 * trail at a time.
 */
export async function checkTrails({ client, since }: Books): Promise<Finding> {
  const violations: Violation[] = [];
  let lookedAt = 0;
  let violationCount = 0;
  let current: TrailRow | undefined;
  let entries: TrailEntryRow[] = [];
  const finish = () => {
    if (!current) return;
    lookedAt++;
    const what = entries.length === 0 ? 'has no audit trail' : faultOfTrail(entries, current.status);
    if (what === undefined) return;
    violationCount++;
    if (violations.length < MAX_NAMED) violations.push({ id: current.id, what });
  };
  await client.query(DECLARE, [since]);
  for (;;) {
    const { rows } = await client.query<TrailRow>(`fetch ${FETCH_ROWS} from trails`);
    for (const row of rows) {
      if (row.id !== current?.id || row.acquirerId !== current.acquirerId) {
        finish();
        current = row;
        entries = [];
      }
      if (row.attempt !== null && row.moves !== null)
        entries.push({ attempt: row.attempt, auditEntries: readEntries(row.moves) });
    }
    if (rows.length < FETCH_ROWS) break;
  }
  finish();
  await client.query('close trails');
  const description = 'every audit trail is a path of declared transitions and ends in the status of its row';
  return { check: 'I6', description, lookedAt, open: 0, inReview: 0, misstated: 0, violationCount, violations };
}
