import { Disposition } from '../../payments/model/disposition.ts';
import { OPEN_REVERSAL_STATES } from '../../payments/model/transaction.ts';
import type { Books } from './books.ts';
import { checkBySql, IS_RESOLVED } from './check-by-sql.ts';
import type { Finding } from './finding.ts';

/** The last outcome of a transaction that a client received. */
export interface ClientAnswer {
  readonly id: string;
  readonly outcome: string;
}

const BATCH_ANSWERS = 5_000;

const TOLD = 'client_answers a left join transactions t on t.id = a.id';
/** A void was requested, or a reversal is in progress, or the transaction needs or needed review. */
const HAS_CHANGED = `(t.void_state is not null or t.needs_review
  or t.reversal_state in (${OPEN_REVERSAL_STATES.join()}) or ${IS_RESOLVED})`;

/** Call this before opening the books, which are read-only afterwards. */
export async function keepAnswers(books: Pick<Books, 'client'>, answers: AsyncIterable<ClientAnswer>): Promise<void> {
  const { client } = books;
  await client.query('create temp table client_answers (id uuid, outcome text)');
  let batch: ClientAnswer[] = [];
  const insert = async () => {
    const columns = [batch.map(({ id }) => id), batch.map(({ outcome }) => outcome)];
    await client.query('insert into client_answers select * from unnest($1::uuid[], $2::text[])', columns);
    batch = [];
  };
  for await (const { id, outcome } of answers) if (batch.push({ id, outcome }) === BATCH_ANSWERS) await insert();
  await insert();
}

/** C: the outcome that a client received is the recorded one. */
export function checkClients(books: Books): Promise<Finding> {
  return checkBySql(books, {
    check: 'C',
    description: 'the outcome that a client received is recorded, was voided, or is or was in review',
    lookedAt: 'select count(*) from client_answers',
    inReview: `select count(*) from ${TOLD} where a.outcome = 'Approved' and t.disposition <> ${Disposition.Approved} and t.needs_review`,
    violations: `
      select a.id::text, concat('a client received ', a.outcome, ', but the transaction does not exist') as what
      from ${TOLD} where t.id is null
      union all
      select a.id::text, concat('a client received Approved, but the disposition is ', t.disposition) from ${TOLD}
      where a.outcome = 'Approved' and t.disposition is distinct from ${Disposition.Approved} and t.id is not null
        and not ${HAS_CHANGED}
      union all
      select a.id::text, concat('a client received ', a.outcome, ', but the transaction is Approved') from ${TOLD}
      where a.outcome <> 'Approved' and t.disposition = ${Disposition.Approved}
        and not ${IS_RESOLVED}`,
  });
}
