import type pg from 'pg';
import { Disposition } from '../../payments/model/disposition.ts';
import { NO_PIN } from '../../payments/model/pin.ts';
import type { Transaction } from '../../payments/model/transaction.ts';
import type { OriginalFacts, RequestKey } from '../../payments/ports/store-ports.ts';
import type { Database } from '../postgres/open-database.ts';
import { findTransactions } from './find-transactions.ts';
import { selectList } from './transaction-columns.ts';

/** Fields of a superseded attempt. */
const OWN = [
  ...['routeId', 'switchRevision', 'tid', 'mid', 'stan', 'rrn', 'sentAtMs'],
  ...['responseCode', 'authorizationCode', 'sealedCard'],
];
const REVERSAL = ['reversalState', 'reversalAttempt', 'reversalArmedAtMs'];

const FIND_SUPERSEDED = `
select transaction_id as id, attempt, date_part('epoch', deadline_at - sent_at) as "deadlineSeconds", ${selectList([...OWN, ...REVERSAL])}
from superseded_attempts
where (acquirer_id, transaction_id, attempt) in (select * from unnest($1::integer[], $2::uuid[], $3::smallint[]))`;

/** Transactions in the form of the given requests, in no order; requests that do not exist are missing. */
export async function findRequests(
  client: Pick<pg.ClientBase, 'query'>,
  keys: readonly RequestKey[],
): Promise<Transaction[]> {
  if (keys.length === 0) return [];
  const rows = new Map((await findTransactions(client, keys)).map((row) => [row.id, row]));
  const earlier = keys.filter(({ id, attempt }) => (rows.get(id)?.attempt ?? 0) > attempt);
  const superseded = earlier.length > 0 ? await findSuperseded(client, earlier) : [];
  return [
    ...[...rows.values()].filter(({ id, attempt }) => keys.some((key) => key.id === id && key.attempt === attempt)),
    ...superseded.flatMap((own) => asRequest(rows.get(own.id)!, own)),
  ];
}

async function findSuperseded(
  client: Pick<pg.ClientBase, 'query'>,
  keys: readonly RequestKey[],
): Promise<(Partial<Transaction> & Pick<Transaction, 'id' | 'attempt'>)[]> {
  const { rows } = await client.query({
    name: 'find-superseded-attempts',
    text: FIND_SUPERSEDED,
    values: [keys.map(({ acquirerId }) => acquirerId), keys.map(({ id }) => id), keys.map(({ attempt }) => attempt)],
  });
  return rows;
}

/** An earlier request of the row. It was declined, by asking for a PIN; the outcome of the transaction belongs to a later attempt. */
function asRequest(row: Transaction, own: Partial<Transaction>): Transaction {
  return {
    ...row,
    ...NO_PIN,
    ...own,
    disposition: Disposition.Declined,
    unusableAuthorizationCode: null,
    approvedMinor: null,
    voidState: null,
  };
}

const OF_REQUEST = 'acquirer_id = $1 and transaction_id = $2 and attempt = $3';
const ATTEMPT = `json_build_object('sentAtMs', (extract(epoch from a.sent_at) * 1000)::float8, 'number', a.number, 'stan', a.stan,
  'couldOvertake', a.could_overtake, 'confirms', a.confirms, 'counts', a.counts, 'nextJob', a.next_job, 'response', a.response)`;

// A response without a response code could not be read, or had no valid MAC: it does not prove that the switch has
// responded.
const FIND_ORIGINAL_FACTS = `
with request as (
  select acquirer_id, route_id, switch_revision, deadline_at, response_code, completing_until
  from transactions where acquirer_id = $1 and id = $2 and attempt = $3
  union all
  select acquirer_id, route_id, switch_revision, deadline_at, response_code, null from superseded_attempts where ${OF_REQUEST}
),
late as (select * from late_responses where ${OF_REQUEST}),
attempts as (select * from reversal_attempts where ${OF_REQUEST})
select extract(epoch from clock_timestamp() - r.deadline_at)::float8 as "sinceDeadlineSeconds",
  r.response_code is not null or exists (select from late where response_code <> '') as "hasResponse",
  coalesce(greatest(extract(epoch from r.completing_until - clock_timestamp()), 0), 0)::float8 as "completingSeconds",
  exists (
    select from routes way join processors p on p.acquirer_id = way.acquirer_id and p.id = way.processor_id
    where way.acquirer_id = r.acquirer_id and way.id = r.route_id and p.switch_revision > coalesce(r.switch_revision, 0)
  ) as "wasSwitchChanged",
  l.authorization_code is not null as "wasApprovedLate", nullif(l.authorization_code, '') as "lateAuthorizationCode",
  (select coalesce(json_agg(${ATTEMPT} order by a.sent_at), '[]') from attempts a) as attempts,
  (select coalesce(greatest(extract(epoch from max(deadline_at) - clock_timestamp()), 0), 0)::float8 from attempts where response is null) as "underWaySeconds",
  (select extract(epoch from clock_timestamp() - max(responded_at))::float8 from attempts
   where response in ('acknowledged', 'duplicate', 'unableToLocate') and counts and not confirms) as "sinceAcknowledgementSeconds"
from request r
left join lateral (select authorization_code from late where kind = 'approved' order by came_at limit 1) l on true`;

export async function findOriginalFacts(
  database: Database,
  { acquirerId, id, attempt }: RequestKey,
): Promise<OriginalFacts> {
  const { rows } = await database.query<OriginalFacts>({
    name: 'find-original-facts',
    text: FIND_ORIGINAL_FACTS,
    values: [acquirerId, id, attempt],
  });
  return rows[0]!;
}
