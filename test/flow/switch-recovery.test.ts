import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { sellApproved, voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { scriptedInstallation } from '../support/scripted-installation.ts';
import { jobsOf } from '../support/transactions.ts';

const REVERSALS = ['0400', '0401', '0420', '0421'];
const AN_HOUR = 3_600;

const scene = scriptedInstallation();

const reversals = () => REVERSALS.flatMap((mti) => scene.scripted.of(mti)).length;

/** As after many attempts in vain: the next one is due in an hour. */
async function waitLong(ids: readonly string[], sinceSeconds: number): Promise<void> {
  const { database } = scene.installation;
  await database.query(
    `update transactions set sent_at = sent_at - interval '10 min', created_at = created_at - interval '10 min' where id = any($1)`,
    [ids],
  );
  await database.query(
    `update reversal_attempts set deadline_at = now() - $2 * interval '1 s' where transaction_id = any($1)`,
    [ids, sinceSeconds],
  );
  await database.query(
    `update pgboss.job set start_after = now() + interval '1 hour' where name = 'reverse' and data ->> 'id' = any($1)`,
    [ids],
  );
}

test('the first response after a silence brings reversals and voids forward', async () => {
  await scene.install();
  const sale = await sellApproved(scene.installation, '12.00');
  scene.scripted.hold('0200', ...REVERSALS);
  const { id } = await scene.tapInVain();
  expect((await voidSale(scene.installation, sale)).status).toBe(202);
  for (const each of [id, sale]) await scene.untilReversal(each, 'sent', 1);
  await scene.untilTimedOut(3);
  await waitLong([id, sale], 300);
  const before = reversals();
  const { id: last } = await scene.tapInVain();
  scene.scripted.hold();
  expect(outcomeOf(await scene.installation.phone().tap({ amount: '13.00', currency: 'ZAR' })).type).toBe('Approved');
  await eventually(() => expect(reversals()).toBeGreaterThanOrEqual(before + 2));
  for (const each of [id, sale]) await scene.untilReversal(each, 'acknowledged', 2);
  await scene.untilAtRest(last);
});

test('a reversal that the switch never responds to is not repeated at each response to others', async () => {
  await scene.install();
  scene.scripted.hold('0200', ...REVERSALS);
  const { id } = await scene.tapInVain();
  await scene.untilReversal(id, 'sent', 1);
  await scene.untilTimedOut(2);
  await waitLong([id], 0);
  await scene.tapInVain();
  scene.scripted.hold(...REVERSALS);
  expect(outcomeOf(await scene.installation.phone().tap({ amount: '13.00', currency: 'ZAR' })).type).toBe('Approved');
  // A tenth of its age after the last attempt, and not at once.
  await eventually(async () => {
    const [job] = (await jobsOf(scene.installation.database, id)).filter(({ queue }) => queue === 'reverse');
    const inSeconds = (job!.startsAtMs - Date.now()) / 1_000;
    expect(inSeconds).toBeLessThan(AN_HOUR / 2);
    expect(inSeconds).toBeGreaterThan(20);
  });
  expect(await scene.stored(id)).toMatchObject({ reversalAttempt: 1 });
});
