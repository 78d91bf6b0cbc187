import { REVERSAL_MOVES } from '../../payments/decisions/reversal-steps.ts';
import type { AuditEntry, ReversalEntry, ReversalResponseEntry } from '../../payments/model/decision.ts';
import { STATUS_MOVES, type StatusId, type StatusName, statusName } from '../../payments/model/status.ts';
import { fromDay } from '../../store/postgres/partitions.ts';
import { readEntries, type StoredEntry } from '../../store/transactions/guarded-update.ts';
import type { Books, Finding, Violation } from './books.ts';

/** An audit row: the entries of one commit about one attempt. */
export interface TrailEntryRow {
  readonly attempt: number;
  readonly auditEntries: readonly AuditEntry[];
}

type ReversalStepName = ReversalEntry['reversal'];

const MOVES: ReadonlyMap<StatusName | null, readonly StatusName[]> = new Map(
  [...STATUS_MOVES].map(([from, to]) => [from === null ? null : statusName(from), to.map(statusName)]),
);

/** Statuses in which a transaction's next attempt can begin. */
const MAY_BEGIN_AGAIN: readonly (StatusName | null)[] = [
  'BadRequestReceived',
  'ErrorFindingConfig',
  'RespondedToPhone',
  'FailedToRespondToPhone',
];

/**
 * The fault in the audit trail of one transaction; undefined when the trail is a path of declared transitions that
 * ends in the status of the row.
 *
 * @param rows oldest first
 * @param status status of the row
 */
export function faultOfTrail(rows: readonly TrailEntryRow[], status: StatusId): string | undefined {
  const walk = new Walk();
  for (const { attempt, auditEntries } of rows) {
    for (const entry of auditEntries) {
      const fault = walk.step(attempt, entry);
      if (fault !== undefined) return fault;
    }
  }
  return walk.at === statusName(status)
    ? undefined
    : `the trail ends in ${walk.at}, but the status of the row is ${statusName(status)}`;
}

class Walk {
  at: StatusName | null = null;
  #attempt = 0;
  /**
   * Each attempt at a switch has its own reversal: an attempt that requested a PIN can be approved while the next
   * one runs.
   */
  readonly #reversals = new Map<number, ReversalWalk>();

  step(attempt: number, entry: AuditEntry): string | undefined {
    if ('late' in entry) return undefined;
    if ('void' in entry) return this.#reversal(attempt).beginVoid();
    if ('reversal' in entry) return this.#reversal(attempt).step(entry);
    if ('reversalResponse' in entry) return this.#reversal(attempt).response(entry);
    return 'to' in entry ? this.#move(attempt, entry) : undefined;
  }

  #reversal(attempt: number): ReversalWalk {
    const walk = this.#reversals.get(attempt) ?? new ReversalWalk();
    this.#reversals.set(attempt, walk);
    return walk;
  }

  #move(attempt: number, { from, to }: { from: StatusName | null; to: StatusName }): string | undefined {
    const said = `attempt ${attempt}: ${from ?? 'new'} -> ${to}`;
    // A PIN proves that the phone has the response that requested it. If that delivery is not recorded yet, the row
    // of the PIN's attempt records it first.
    const isOfLast = attempt === this.#attempt + 1 && this.#attempt > 0 && to === 'RespondedToPhone';
    const isNew = attempt !== this.#attempt && !isOfLast;
    if (isNew && attempt !== this.#attempt + 1) return `${said} follows attempt ${this.#attempt}`;
    if (isNew && this.#attempt > 0 && !MAY_BEGIN_AGAIN.includes(this.at)) return `${said} begins again from ${this.at}`;
    if (!(isNew && from === null) && from !== this.at) return `${said} does not follow ${this.at}`;
    if (!MOVES.get(from)?.includes(to)) return `${said} is not a declared transition`;
    this.at = to;
    if (isNew) this.#attempt = attempt;
    return undefined;
  }
}

/** Results of any attempt that was made, last or not, because a response can arrive at any time. */
const OF_ANY_ATTEMPT: readonly ReversalStepName[] = ['confirming', 'acknowledged', 'refused'];

class ReversalWalk {
  #reversal: ReversalStepName = 'owed';
  /** The states before each of the attempts that count. */
  #before: ReversalStepName[] = [];
  #mostAttempts = 0;

  /** A void is a separate reversal; after a refused one another can follow. */
  beginVoid(): undefined {
    this.#reversal = 'owed';
    this.#before = [];
  }

  response({ reversalResponse, attempt }: ReversalResponseEntry): string | undefined {
    return this.#wasMade(attempt)
      ? undefined
      : `response ${reversalResponse} is to attempt ${attempt}, which was not made`;
  }

  #wasMade(attempt: number): boolean {
    return attempt >= 1 && attempt <= this.#mostAttempts;
  }

  step({ reversal, attempt }: Pick<ReversalEntry, 'reversal' | 'attempt'>): string | undefined {
    const said = `reversal ${reversal} ${attempt}`;
    if (!REVERSAL_MOVES[this.#reversal].includes(reversal)) return `${said} does not follow ${this.#reversal}`;
    const expected = this.#before.length + (reversal === 'sent' ? 1 : 0);
    const isInTurn =
      (attempt === expected && !OF_ANY_ATTEMPT.includes(reversal)) ||
      ([...OF_ANY_ATTEMPT, 'needsReview'].includes(reversal) && this.#wasMade(attempt));
    if (!isInTurn) return `${said} is out of turn: ${expected} is due`;
    if (reversal === 'sent') this.#before.push(this.#reversal);
    this.#mostAttempts = Math.max(this.#mostAttempts, this.#before.length);
    if (reversal === 'refused') this.#before = []; // the next void starts over
    // The sender of the previous attempt may still receive its response, or find that it was not written either.
    this.#reversal = reversal === 'unsent' ? this.#before.pop()! : reversal;
    return undefined;
  }
}

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
export async function checkTrails({ client, since, maxNamed }: Books): Promise<Finding> {
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
    if (violations.length < maxNamed) violations.push({ id: current.id, what });
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
