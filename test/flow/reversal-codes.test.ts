import { beforeEach, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { sellApproved, voidSale } from '../support/refunds.ts';
import { scriptedInstallation, withCode } from '../support/scripted-installation.ts';
import { letDoubtPass, trailOf } from '../support/transactions.ts';

const scene = scriptedInstallation();
beforeEach(async () => {
  await scene.install();
  scene.scripted.hold('0200', '0420', '0421');
});

describe('code 21, no action taken,', () => {
  test('is doubtful: the reversal is confirmed with one more', async () => {
    const { id } = await scene.tapInVain();
    await scene.respond('0420', '21');
    expect(await scene.untilReversal(id, 'confirming', 1)).toMatchObject({ disposition: Disposition.Indeterminate });
    await letDoubtPass(scene.installation.database, id);
    await scene.respond('0421', '21');
    expect(await scene.untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
  });
});

describe('code 94, duplicate transmission,', () => {
  test('does not acknowledge the first attempt, which then needs review', async () => {
    const { id } = await scene.tapInVain();
    await scene.respond('0420', '94');
    await scene.untilReversal(id, 'needsReview', 1);
    await scene.untilAtRest(id);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
    expect(scene.scripted.of('0421')).toEqual([]);
  });

  // The reversal has the STAN of its sale: the switch may have compared the two, and both 94 may name the sale.
  test('acknowledges no repeat either, although the response to the first attempt was lost', async () => {
    const { id } = await scene.tapInVain();
    const first = await scene.scripted.next('0420');
    await scene.untilTimedOut(2);
    await scene.letTimePass(id, 10);
    const repeat = await scene.scripted.next('0421');
    repeat.respond(withCode('94'));
    await scene.untilReversal(id, 'needsReview', 2);
    await scene.untilAtRest(id);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
    first.respond(withCode('94'));
    await eventually(async () =>
      expect(await trailOf(scene.installation.database, id)).toContain('response duplicate 1'),
    );
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
  });

  test('does not acknowledge the void of a sale, which stays approved, in review', async () => {
    scene.scripted.hold('0420', '0421');
    const sale = await sellApproved(scene.installation, '10.00');
    const { serviceReference: id } = (await voidSale(scene.installation, sale)).body as { serviceReference: string };
    await scene.scripted.next('0420');
    await scene.untilTimedOut(1);
    await scene.letTimePass(sale, 10);
    await scene.respond('0421', '94');
    await scene.untilReversal(sale, 'needsReview', 2);
    expect(await scene.stored(sale)).toMatchObject({ disposition: Disposition.Approved, needsReview: true });
    expect(await scene.stored(id)).toMatchObject({ disposition: null, needsReview: true });
    expect((await voidSale(scene.installation, sale)).status).toBe(409);
  });
});
