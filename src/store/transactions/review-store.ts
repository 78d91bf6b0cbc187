import type pg from 'pg';
import { INSTALLATION_OWNER } from '../../auth/portal/portal-user.ts';
import { MUST_NOT_REST } from '../../payments/model/status.ts';
import {
  ReversalState,
  RUNNING_REVERSAL_STATES,
  type Transaction,
  TransactionType,
} from '../../payments/model/transaction.ts';
import type {
  Finding,
  OpenProposal,
  Proposal,
  ResolutionStep,
  Reviewer,
  ReviewStore,
  StoredReviewFacts,
} from '../../payments/ports/store-ports.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { inAdminCommit, recordChange } from '../settings/admin-commit.ts';
import { adjustReservations } from './commit-refunds.ts';
import { INSERT_ENTRIES } from './guarded-update.ts';
import { changeJobs, type JobsInCommit } from './jobs-in-commit.ts';

const OF_TRANSACTION = 'acquirer_id = $1 and transaction_id = $2';
/** An attempt without a response, before its deadline: it may reach the switch at any moment. */
const IS_SENDING = `exists (select from reversal_attempts where ${OF_TRANSACTION} and response is null and deadline_at > clock_timestamp())`;
const IS_EARLIER_RUNNING = `exists (select from superseded_attempts where ${OF_TRANSACTION} and reversal_state in (${RUNNING_REVERSAL_STATES.join()}))`;

/** Code of 7.5: approved for a partial amount. */
const PARTIAL_APPROVAL = '10';

const FACTS = `
select ${IS_SENDING} or coalesce(t.completing_until > clock_timestamp(), false) as "isUnderWay",
  ${IS_EARLIER_RUNNING} as "isEarlierReversalRunning",
  exists (select from superseded_attempts where ${OF_TRANSACTION} and reversal_state = ${ReversalState.needsReview}) as "isEarlierReversalInReview",
  exists (select from transactions v where v.acquirer_id = $1 and v.original_id = $2 and v.type = ${TransactionType.Void}
    and v.needs_review) as "isVoidInReview",
  coalesce(t.response_code = '${PARTIAL_APPROVAL}', false) or exists (select from late_responses l where l.acquirer_id = $1
    and l.transaction_id = $2 and l.response_code = '${PARTIAL_APPROVAL}') as "wasApprovedInPart",
  (select max(event_sequence) from review_resolutions where ${OF_TRANSACTION}) as "lastSequence"
from transactions t where t.acquirer_id = $1 and t.id = $2`;

const FIND_PROPOSAL = `
select acquirer_id as "acquirerId", transaction_id as id, id as "resolutionId", books, reason, seen,
  json_build_object('name', proposed_by, 'userId', proposed_by_user, 'grant', case when proposed_by_issuer is not null then
    json_build_object('issuer', proposed_by_issuer, 'role', proposed_by_role, 'acquirerId', proposed_by_owner) end) as by,
  exists (select from users u where u.id = proposed_by_user
    and u.acquirer_id in ($1, ${INSTALLATION_OWNER}) and not u.is_blocked and u.role <> 'viewer') as "isUserStillAble"
from review_resolutions where acquirer_id = $1 and id = $2 and state = 'proposed'`;

const PROPOSE = `
insert into review_resolutions (acquirer_id, id, transaction_id, books, reason, state, seen, proposed_by, proposed_by_user,
  proposed_by_issuer, proposed_by_role, proposed_by_owner)
values ($1, $2, $3, $4, $5, 'proposed', $6, $7, $8, $9, $10, $11)
on conflict (acquirer_id, transaction_id) where state = 'proposed' do nothing`;

const DECIDE = `
update review_resolutions set state = $3, decided_by = $4, decided_at = clock_timestamp(), from_disposition = $5,
  to_disposition = $6, event_sequence = $7
where acquirer_id = $1 and id = $2 and state = 'proposed'`;

// Locked first: a reversal of an earlier attempt that is about to be sent has then been recorded, or finds it resolved.
const LOCK_EARLIER = `select from superseded_attempts where ${OF_TRANSACTION} for update`;
const RESOLVE_EARLIER = `
update superseded_attempts set reversal_state = ${ReversalState.resolved}
where ${OF_TRANSACTION} and reversal_state = ${ReversalState.needsReview}`;

const RESOLVE = `
update transactions
set disposition = $3, approved_minor = $4, response_code = $5, authorization_code = $6, error_code = $7, reversal_state = $8,
  void_state = $9, needs_review = false, updated_at = clock_timestamp()
where acquirer_id = $1 and id = $2 and attempt = $10 and disposition = $11 and reversal_state = $12 and reversal_attempt = $13
  and void_state is not distinct from $14 and refunded_minor = $15
  and round(date_part('epoch', updated_at) * 1e6) / 1e3 = $16::float8 and status not in (${MUST_NOT_REST.join()})
  and coalesce(completing_until <= clock_timestamp(), true)
  and not ${IS_SENDING} and not ${IS_EARLIER_RUNNING}`;

// Each void of the sale that waited for a person, and the last one with its result.
const RESOLVE_VOIDS = `
update transactions set needs_review = false, updated_at = clock_timestamp(),
  disposition = case when id = $3 then $4::integer else disposition end
where acquirer_id = $1 and original_id = $2 and type = ${TransactionType.Void} and (needs_review or id = $3)`;

/** Resolutions on Postgres. They are rare, and each has its own commit with its admin event. */
export class PostgresReviewStore implements ReviewStore {
  readonly #database: Database;
  readonly #jobs: JobsInCommit;

  constructor(database: Database, jobs: JobsInCommit) {
    this.#database = database;
    this.#jobs = jobs;
  }

  async findReviewFacts({ acquirerId, id }: Transaction): Promise<StoredReviewFacts> {
    const { rows } = await mapConnectionLoss(this.#database.query<StoredReviewFacts>(FACTS, [acquirerId, id]));
    return rows[0]!;
  }

  async findProposal(acquirerId: number, resolutionId: string): Promise<OpenProposal | undefined> {
    const { rows } = await mapConnectionLoss(
      this.#database.query<OpenProposal>(FIND_PROPOSAL, [acquirerId, resolutionId]),
    );
    return rows[0];
  }

  propose(proposal: Proposal): Promise<boolean> {
    return this.#commit(proposal.acquirerId, async (client) => {
      await insertProposal(client, proposal);
      await record(client, proposal, proposal.by, 'proposeResolution');
    });
  }

  reject(proposal: Proposal, by: Reviewer): Promise<boolean> {
    const { acquirerId, resolutionId } = proposal;
    return this.#commit(acquirerId, async (client) => {
      await mustChange(client, DECIDE, [acquirerId, resolutionId, 'rejected', by.name, null, null, null]);
      await record(client, proposal, by, 'rejectResolution');
    });
  }

  resolve(proposal: Proposal, step: ResolutionStep, confirmedBy: Reviewer | undefined): Promise<boolean> {
    const { acquirerId, id, resolutionId } = proposal;
    return this.#commit(acquirerId, async (client) => {
      if (!confirmedBy) await insertProposal(client, proposal);
      const { transaction, to, voidRow, eventSequence } = step;
      const decided = [confirmedBy?.name ?? null, transaction.disposition, to.disposition, eventSequence];
      await mustChange(client, DECIDE, [acquirerId, resolutionId, 'done', ...decided]);
      await client.query(LOCK_EARLIER, [acquirerId, id]);
      await mustChange(client, RESOLVE, valuesOf(step));
      await client.query(RESOLVE_EARLIER, [acquirerId, id]);
      await client.query(RESOLVE_VOIDS, [acquirerId, id, voidRow?.id ?? null, voidRow?.disposition ?? null]);
      await client.query(`${INSERT_ENTRIES} values ($1, $2, $3, $4::jsonb)`, [
        ...[acquirerId, id, transaction.attempt],
        JSON.stringify([step.entry]),
      ]);
      await changeJobs(client, this.#jobs, [{ enqueue: step.enqueue }]);
      await adjustReservations(client, [transaction]);
      await record(client, proposal, confirmedBy ?? proposal.by, confirmedBy ? 'confirmResolution' : 'resolve', step);
    });
  }

  /** False if something has changed meanwhile; then nothing is committed. */
  async #commit(acquirerId: number, write: (client: pg.ClientBase) => Promise<void>): Promise<boolean> {
    try {
      await inAdminCommit(this.#database, acquirerId, write);
      return true;
    } catch (error) {
      if (error instanceof Changed) return false;
      throw error;
    }
  }
}

/** Rolls the commit back. */
class Changed extends Error {}

async function mustChange(client: pg.ClientBase, text: string, values: readonly unknown[]): Promise<void> {
  const { rowCount } = await client.query(text, [...values]);
  if (rowCount !== 1) throw new Changed();
}

function insertProposal(client: pg.ClientBase, proposal: Proposal): Promise<void> {
  const { acquirerId, resolutionId, id, books, reason, seen, by } = proposal;
  const { name, userId, grant } = by;
  const granted = [grant?.issuer ?? null, grant?.role ?? null, grant?.acquirerId ?? null];
  return mustChange(client, PROPOSE, [acquirerId, resolutionId, id, books, reason, seen, name, userId, ...granted]);
}

function valuesOf({ transaction, to }: ResolutionStep): unknown[] {
  const { acquirerId, id, attempt, disposition, reversalState, reversalAttempt, voidState, refundedMinor } =
    transaction;
  return [
    ...[acquirerId, id, to.disposition, to.approvedMinor, to.responseCode, to.authorizationCode, to.errorCode],
    ...[to.reversalState, to.voidState, attempt, disposition, reversalState, reversalAttempt, voidState, refundedMinor],
    transaction.updatedAtMs,
  ];
}

/** The admin event: the person who acts, what was found and, for a confirmation, who proposed it. */
async function record(
  client: pg.ClientBase,
  { acquirerId, id, resolutionId, books, reason, by }: Proposal,
  actor: Reviewer,
  did: string,
  step?: ResolutionStep,
): Promise<void> {
  const after = {
    ...{ did, resolutionId, books, reason },
    ...(actor !== by && { proposedBy: by.name }),
    ...(step && { disposition: step.to.disposition }),
  };
  const before = step ? { disposition: step.transaction.disposition } : null;
  const event = { action: 'act', kind: 'review', id, before, after } as const;
  await recordChange(client, { acquirerId, actor: actor.name }, event);
}

/** A resolution as the console shows it. */
export interface ShownResolution extends Pick<Finding, 'books' | 'reason'> {
  readonly id: string;
  readonly state: 'proposed' | 'done' | 'rejected';
  readonly proposedBy: string;
  readonly proposedByUser: string | null;
  readonly proposedAt: string;
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
}

const MAX_SHOWN = 20;

/** Newest first. */
export async function findResolutions(
  database: Database,
  { acquirerId, id }: Pick<Transaction, 'acquirerId' | 'id'>,
): Promise<ShownResolution[]> {
  const text = `select id, books, reason, state, proposed_by as "proposedBy", proposed_by_user as "proposedByUser",
      proposed_at as "proposedAt", decided_by as "decidedBy", decided_at as "decidedAt"
    from review_resolutions where ${OF_TRANSACTION} order by proposed_at desc limit ${MAX_SHOWN}`;
  const { rows } = await mapConnectionLoss(database.query<ShownResolution>(text, [acquirerId, id]));
  return rows;
}
