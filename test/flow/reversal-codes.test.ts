import { beforeEach, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { scriptedInstallation, withCode } from '../support/scripted-installation.ts';
import { letDoubtPass } from '../support/transactions.ts';

const scene = scriptedInstallation();
beforeEach(async () => {
  await scene.install();
  scene.scripted.hold('0200', '0420', '0421');
});

describe('code 21, no action taken,', () => {
  test('is doubtful: the reversal is confirmed with one more', async () => {
    const { id } = await scene.tapInVain();
    await scene.answer('0420', '21');
    expect(await scene.untilReversal(id, 'confirming', 1)).toMatchObject({ disposition: Disposition.Indeterminate });
    await letDoubtPass(scene.installation.database, id);
    await scene.answer('0421', '21');
    expect(await scene.untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
  });
});

describe('code 94, duplicate transmission,', () => {
  test('does not acknowledge the first attempt, which then needs review', async () => {
    const { id } = await scene.tapInVain();
    await scene.answer('0420', '94');
    await scene.untilReversal(id, 'needsReview', 1);
    await scene.untilAtRest(id);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
    expect(scene.scripted.of('0421')).toEqual([]);
  });

  test('to the repeat and then to the first attempt has the end of the reversal reviewed', async () => {
    const { id } = await scene.tapInVain();
    const first = await scene.scripted.next('0420');
    await scene.untilTimedOut(2);
    await scene.letTimePass(id, 10);
    await scene.answer('0421', '94');
    expect(await scene.untilReversal(id, 'acknowledged', 2)).toMatchObject({ needsReview: false });
    first.answer(withCode('94'));
    await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
  });

  test('acknowledges a repeat of an attempt without a response', async () => {
    const { id } = await scene.tapInVain();
    await scene.scripted.next('0420');
    await scene.untilTimedOut(2);
    await scene.letTimePass(id, 10);
    await scene.answer('0421', '94');
    expect(await scene.untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
  });
});
