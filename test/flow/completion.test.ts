import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { Type2Config } from '../../processors/type-2/config.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { PostgresCompletions } from '../../src/store/transactions/completions.ts';
import { findTransaction } from '../../src/store/transactions/find-transactions.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { problemOf } from '../support/responses.ts';

let installation: Installation;
afterEach(() => installation.stop());

/** An approval of type 2 that posts only after a 0220. */
const COMPLETED: Partial<Type2Config> = { completion: true };

async function untilPosted(count: number): Promise<void> {
  await eventually(() => expect(installation.simulator.ledger.totals()).toMatchObject({ posted: count }));
}

/** The switch's ledger changes first; the gateway records the acknowledgement a moment later. */
async function untilVoided(id: string): Promise<void> {
  await eventually(async () => {
    expect(await storedSale(installation.database, id)).toMatchObject({ disposition: Disposition.Voided });
  });
}

describe('an approval that posts only when it is completed', () => {
  test('is completed soon after, and a void still reverses it', async () => {
    installation = await startInstallation({ type: 'type-2', config: COMPLETED });
    const id = await sellApproved(installation, '10.00');
    await sellApproved(installation, '12.00');
    await untilPosted(2);
    await eventually(async () => {
      const { rows } = await installation.database.query(`select from pgboss.job where name = 'complete'`);
      expect(rows).toEqual([]);
    });
    expect((await voidSale(installation, id)).status).toBe(202);
    await untilVoided(id);
    expect(installation.simulator.ledger.totals()).toMatchObject({ posted: 1, reversed: 1 });
    await expectInvariants(installation);
  });

  test('is not reversed while its completion may still be in transit', async () => {
    installation = await startInstallation({ type: 'type-2', config: COMPLETED });
    const { database } = installation;
    const id = await sellApproved(installation, '10.00');
    await untilPosted(1);
    const isOnItsWay = (until: string) =>
      database.query(`update transactions set completing_until = ${until} where id = $1`, [id]);
    await eventually(async () => {
      const { rowCount } = await database.query('select from transactions where id = $1 and completing_until is null', [
        id,
      ]);
      expect(rowCount).toBe(1);
    });
    await isOnItsWay(`clock_timestamp() + interval '1 hour'`);
    expect((await voidSale(installation, id)).status).toBe(202);
    const looks = new Set<string>();
    await eventually(async () => {
      const { rows } = await database.query<{ id: string }>(`select id from pgboss.job where name = 'reverse'`);
      for (const job of rows) looks.add(job.id);
      expect(looks.size).toBeGreaterThan(1); // the job has run and was postponed
    });
    expect(installation.simulator.ledger.totals()).toMatchObject({ posted: 1, reversed: 0 });
    await isOnItsWay('null');
    await untilVoided(id);
    expect(installation.simulator.ledger.totals()).toMatchObject({ posted: 0, reversed: 1 });
    await expectInvariants(installation);
  });

  test('needs review if no switch accepts the completion', async () => {
    installation = await startInstallation({ type: 'type-2', config: COMPLETED });
    const { database } = installation;
    const completions = new PostgresCompletions(database);
    const id = await sellApproved(installation, '10.00');
    await untilPosted(1);
    const sale = (await findTransaction(database, { acquirerId: 1, id }))!;
    await eventually(async () => expect(await completions.begin(sale, 60)).toBe(true));
    expect(await completions.begin(sale, 60)).toBe(false);
    await completions.end(sale);
    await completions.giveUp(sale, Date.now());
    expect(await storedSale(database, id)).toMatchObject({ disposition: Disposition.Approved, needsReview: true });
    const { rows } = await database.query(
      `select moves -> 0 ->> 'completion' as outcome from transaction_events where transaction_id = $1 order by id desc limit 1`,
      [id],
    );
    expect(rows).toEqual([{ outcome: 'givenUp' }]);
    // The switch may never have posted the sale: a refund would return money that was not taken.
    const refused = await refundSale(installation, id, { amount: '4.00', refundReference: randomUUID() });
    expect(problemOf(refused)).toMatchObject({ status: 409, errorCode: 213 });
    expect(await storedSale(database, id)).toMatchObject({ refundedMinor: 0 });
    expect(problemOf(await voidSale(installation, id))).toMatchObject({ status: 409, errorCode: 213 });
    await database.query('update transactions set needs_review = false where id = $1', [id]); // as a person does
    await voidSale(installation, id);
    expect(await completions.begin(sale, 60)).toBe(false);
    await untilVoided(sale.id);
    expect(installation.simulator.ledger.totals()).toMatchObject({ reversed: 1 });
    await expectInvariants(installation);
  });

  test('is completed by another process if the one with the approval has ended', async () => {
    installation = await startInstallation({ type: 'type-2', config: COMPLETED, role: 'none' });
    const first = await installation.startGateway();
    // The job of the first process is postponed by an hour.
    await installation.database.query(
      `create function hold() returns trigger language plpgsql as $$ begin new.start_after := now() + interval '1 hour'; return new; end $$`,
    );
    await installation.database.query(
      `create trigger hold before insert on pgboss.job_common for each row when (new.name = 'complete') execute function hold()`,
    );
    await sellApproved(installation, '10.00');
    expect(installation.ledger).toMatchObject([{ state: 'approved', isPosted: false }]);
    await first.stop();
    await installation.database.query(`update pgboss.job set start_after = now() where name = 'complete'`);
    await installation.startGateway();
    await untilPosted(1);
  });
});

test('an approval that posts automatically is not completed', async () => {
  installation = await startInstallation({ type: 'type-2' });
  await sellApproved(installation, '10.00');
  expect(installation.ledger).toMatchObject([{ state: 'approved', isPosted: true }]);
  const { rows } = await installation.database.query(`select from pgboss.job where name = 'complete'`);
  expect(rows).toEqual([]);
});
