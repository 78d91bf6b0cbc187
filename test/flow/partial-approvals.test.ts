import { expect, test } from 'vitest';
import type { TransactionStory } from '../../src/console/transaction-story.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { consoleClient } from '../support/console-client.ts';
import { eventually } from '../support/eventually.ts';
import { refundSale, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { LONGER_THAN_REVERSALS_SECONDS, reviewsIn } from '../support/reviews.ts';
import { scriptedInstallation } from '../support/scripted-installation.ts';
import { untilResponded } from '../support/transactions.ts';

const scene = scriptedInstallation();
const { logIn, act, look, list, data } = consoleClient(() => scene.installation);
const { resolve } = reviewsIn(scene, { act, look });
const PARTIAL = { responseCode: '10', amountMinor: 4_000 };

test('a request that was approved in part although it asked for all is not resolved as approved', async () => {
  await scene.install();
  scene.scripted.hold('0200', '0420', '0421');
  const tapping = scene.installation.phone().tap({ amount: '100.00', currency: 'ZAR' });
  (await scene.scripted.next('0200')).respond(PARTIAL);
  const { serviceReference: id, type } = outcomeOf(await tapping);
  expect(type).toBe('Indeterminate');
  await untilResponded(scene.installation.database, id);
  await scene.scripted.next('0420');
  await scene.letTimePass(id, LONGER_THAN_REVERSALS_SECONDS);
  await scene.scripted.next('0421');
  await scene.untilReversal(id, 'needsReview', 2);
  await scene.untilAtRest(id);
  await scene.letTimePass(id, 60);
  const session = await logIn({ acquirerId: 1 }, 'operator');
  expect((await resolve(session, id, 'approved')).status).toBe(409);
  expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
  expect((await resolve(session, id, 'voided')).status).toBe(204);
});

// DE4 of a reversal names its original, as the switch received it; DE95 says that nothing of it stands. A switch that
// compares the amount with that of the original would not find the approved part.
test('the void of a sale that was approved in part names the requested amount, of which nothing stands', async () => {
  await scene.installOwn({ profile: { partialApproval: true, deadlineMs: 1_000 } });
  scene.scripted.onRequest = ({ message, respond }) => respond(message.mti === '0200' ? PARTIAL : {});
  const { serviceReference: sale } = outcomeOf(
    await scene.installation.phone().tap({ amount: '100.00', currency: 'ZAR' }),
  );
  await untilResponded(scene.installation.database, sale);
  const request = await scene.scripted.next('0200');
  expect((await voidSale(scene.installation, sale)).body).toMatchObject({ amountMinor: 4_000 });
  const { message } = await scene.scripted.next('0420');
  expect(message).toMatchObject({
    amount: request.message.amount,
    replacementAmounts: expect.stringMatching(/^0{24}/),
  });
  await eventually(async () =>
    expect(await storedSale(scene.installation.database, sale)).toMatchObject({ disposition: Disposition.Voided }),
  );
});

test('people see the approved part of a sale in the list, in its file, and beside its refund', async () => {
  await scene.installOwn({ profile: { partialApproval: true } });
  scene.scripted.onRequest = ({ message, respond }) =>
    respond(message.mti === '0200' && message.processingCode === '000000' ? PARTIAL : {});
  const { installation } = scene;
  const { serviceReference: sale } = outcomeOf(await installation.phone().tap({ amount: '100.00', currency: 'ZAR' }));
  await untilResponded(installation.database, sale);
  const { body } = await refundSale(installation, sale, { amount: '40.00', refundReference: 'whole' });
  const session = await logIn({ acquirerId: 1 }, 'operator');
  const { rows } = await list(session, {});
  expect(rows.map(({ type, amount }) => [type, amount])).toEqual([
    ['Refund', '40.00'],
    ['Tap', '40.00'],
  ]);
  const file = await (await data(session, 'transactions/export', { filter: {} })).text();
  expect(file).not.toContain('100.00');
  const { serviceReference: refund } = body as { readonly serviceReference: string };
  const { related } = (await (await look(session, refund)).json()) as TransactionStory;
  expect(related).toMatchObject([{ id: sale, amount: 'ZAR 40.00' }]);
});
