import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { RefundResponse } from '../../schemas/refund.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { faultsIn } from '../support/log-lines.ts';
import { refundSale, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { scriptedInstallation, withCode } from '../support/scripted-installation.ts';
import type { ReceivedRequest } from '../support/scripted-switch.ts';
import { untilResponded } from '../support/transactions.ts';

const scene = scriptedInstallation({ profile: { deadlineMs: 2_500 } });
beforeEach(() => scene.install());

const alarmsOf = (id: string) =>
  faultsIn(scene.installation.logLines).filter((line) => line.id === id && line.msg.includes('needs review'));

async function tap() {
  const { serviceReference: id } = outcomeOf(
    await scene.installation.phone().tap({ amount: '100.00', currency: 'ZAR' }),
  );
  await untilResponded(scene.installation.database, id);
  return { id, sale: await scene.scripted.next('0200') };
}

test('a second approval with another DE38 is a second booking: recorded, alarmed and in review, and nothing is reversed', async () => {
  const { id, sale } = await tap();
  for (const authorizationCode of ['123456', '123456', '654321', '654321']) sale.respond({ authorizationCode });
  await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
  await eventually(async () => expect(await scene.counters()).toMatchObject({ late: 1, duplicates: 3, unknown: 0 }));
  expect(await scene.stored(id)).toMatchObject({
    disposition: Disposition.Approved,
    reversalState: ReversalState.none,
  });
  expect(await scene.afterwards(id)).toEqual(['late approved']);
  await eventually(() => expect(alarmsOf(id)).toHaveLength(1));
  const refund = { amount: '1.00', refundReference: randomUUID() };
  expect(await refundSale(scene.installation, id, refund)).toMatchObject({ status: 409, body: { errorCode: 213 } });
  await scene.untilAtRest(id);
  expect(scene.scripted.of('0420')).toEqual([]);
});

test('a second approval that arrives together with the first is in review as well', async () => {
  scene.scripted.onRequest = ({ respond }) => {
    for (const authorizationCode of ['123456', '654321']) respond({ authorizationCode });
  };
  const { id } = await tap();
  await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
  expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Approved });
  await scene.untilAtRest(id);
});

test.each([
  ['another part', { responseCode: '10', amountMinor: 4_000 }, { responseCode: '10', amountMinor: 6_000 }],
  ['the whole after a part', { responseCode: '10', amountMinor: 4_000 }, {}],
  ['a part after the whole', {}, { responseCode: '10', amountMinor: 4_000 }],
])('a second approval of another amount is in review, also with the same DE38: %s', async (_name, first, second) => {
  await scene.installOwn({ profile: { partialApproval: true } });
  scene.scripted.onRequest = ({ respond }) => respond({ authorizationCode: '123456', ...first });
  const { id, sale } = await tap();
  for (const each of [first, second]) sale.respond({ authorizationCode: '123456', ...each });
  await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
  expect(await scene.afterwards(id)).toEqual(['late approved']);
  await scene.untilAtRest(id);
  expect(scene.scripted.of('0420')).toEqual([]);
});

describe('a process that has not received the first response', () => {
  test('notices a second approval with another DE38 after a restart, and a repeat of the first', async () => {
    await scene.installOwn({ role: 'none', profile: { deadlineMs: 5_000 } });
    const before = await scene.installation.startGateway();
    const { id, sale } = await tap();
    const { sale: repeated } = await tap();
    await before.stop();
    const after = await scene.installation.startGateway();
    const on = scene.scripted.lines.at(-1)!;
    repeated.respond({ authorizationCode: '123456' }, { on });
    sale.respond({ authorizationCode: '654321' }, { on });
    await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
    expect(await scene.afterwards(id)).toEqual(['late approved']);
    await eventually(() => expect(alarmsOf(id)).toHaveLength(1));
    await eventually(async () => {
      const { unmatchedResponses } = await scene.installation.switchStats(after.url);
      expect(unmatchedResponses).toMatchObject({ late: 1, duplicates: 1, unknown: 0 });
    });
    expect(await voidSale(scene.installation, id)).toMatchObject({ status: 409, body: { errorCode: 213 } });
  });

  test('notices one that arrives on the connection of another process, and a decline', async () => {
    await scene.installOwn({ profile: { deadlineMs: 5_000 } });
    const [{ id, sale }, { id: declined, sale: other }] = [await tap(), await tap()];
    await scene.installation.startGateway();
    const on = scene.scripted.lines.at(-1)!;
    expect(on).not.toBe(sale.line);
    sale.respond({ authorizationCode: '654321' }, { on });
    other.respond(withCode('51'), { on });
    for (const each of [id, declined])
      await eventually(async () => expect(await scene.stored(each)).toMatchObject({ needsReview: true }));
    expect(await scene.afterwards(declined)).toEqual(['late declined']);
  });

  test('notices one that arrives just before it stops', async () => {
    await scene.installOwn({ role: 'none' });
    const before = await scene.installation.startGateway();
    const { id, sale } = await tap();
    await before.stop();
    const after = await scene.installation.startGateway();
    sale.respond({ authorizationCode: '654321' }, { on: scene.scripted.lines.at(-1)! });
    // A response to a later request shows that this one was received.
    await tap();
    await after.stop();
    expect(await scene.stored(id)).toMatchObject({ needsReview: true });
  });
});

test('a response to an approved sale that cannot be compared, because its card cannot be opened, has the sale reviewed', async () => {
  await scene.install();
  const { id, sale } = await tap();
  await scene.installation.database.query(`update transactions set sealed_card = '\\x00' where id = $1`, [id]);
  sale.respond(withCode('51'));
  await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
  expect(await scene.stored(id)).toMatchObject({
    disposition: Disposition.Approved,
    reversalState: ReversalState.none,
  });
});

test('a repeated approval has no effect', async () => {
  const { id, sale } = await tap();
  sale.respond();
  await eventually(async () => expect(await scene.counters()).toMatchObject({ duplicates: 1 }));
  expect(await scene.stored(id)).toMatchObject({ needsReview: false, reversalState: ReversalState.none });
  expect(await scene.afterwards(id)).toEqual([]);
});

test('a decline that is approved twice, with two codes, is reversed once and names the doubt', async () => {
  scene.scripted.onRequest = ({ message, respond }) => respond(message.mti === '0200' ? withCode('91') : {});
  const { id, sale } = await tap();
  sale.respond();
  await scene.untilReversal(id, 'acknowledged', 1);
  await scene.installation.database.query('update transactions set needs_review = false where id = $1', [id]);
  sale.respond({ authorizationCode: '654321' });
  await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
  await eventually(async () => expect(scene.scripted.of('0420').length + scene.scripted.of('0421').length).toBe(2));
});

describe('a decline after the approval', () => {
  const declineLate = (request: ReceivedRequest) => request.respond(withCode('51'));

  test('a decline after the approval of a sale has it reviewed, and neither refunded nor voided: perhaps nothing is booked', async () => {
    const { id, sale } = await tap();
    declineLate(sale);
    declineLate(sale);
    await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
    await eventually(async () => expect(await scene.counters()).toMatchObject({ late: 1, duplicates: 1 }));
    expect(await scene.stored(id)).toMatchObject({
      disposition: Disposition.Approved,
      reversalState: ReversalState.none,
    });
    expect(await scene.afterwards(id)).toEqual(['late declined']);
    await eventually(() => expect(alarmsOf(id)).toHaveLength(1));
    const refund = { amount: '1.00', refundReference: randomUUID() };
    expect(await refundSale(scene.installation, id, refund)).toMatchObject({ status: 409, body: { errorCode: 213 } });
    expect(await voidSale(scene.installation, id)).toMatchObject({ status: 409, body: { errorCode: 213 } });
    expect(scene.scripted.of('0420')).toEqual([]);
  });

  test('a decline after the approval of a refund has the refund reviewed, and its amount stays reserved', async () => {
    const { id: sale } = await tap();
    const { body } = await refundSale(scene.installation, sale, { amount: '40.00', refundReference: randomUUID() });
    const { serviceReference: id, type } = body as RefundResponse;
    expect(type).toBe('Approved');
    declineLate(await scene.scripted.next('0200'));
    await eventually(async () => expect(await scene.stored(id)).toMatchObject({ needsReview: true }));
    expect(await storedSale(scene.installation.database, sale)).toMatchObject({ refundedMinor: 4_000 });
    expect(await voidSale(scene.installation, sale)).toMatchObject({ status: 409, body: { errorCode: 213 } });
  });

  test('a decline after the approval of a sale that the switch has voided changes nothing: no amount stands', async () => {
    const { id, sale } = await tap();
    await voidSale(scene.installation, id);
    await scene.untilReversal(id, 'acknowledged', 1);
    declineLate(sale);
    await eventually(async () => expect(await scene.afterwards(id)).toContain('late declined'));
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Voided, needsReview: false });
  });

  test('a decline after the approval that only calls the request a duplicate is no decline: the switch has booked it', async () => {
    const { id, sale } = await tap();
    sale.respond(withCode('94'));
    await eventually(async () => expect(await scene.counters()).toMatchObject({ duplicates: 1, late: 0 }));
    expect(await scene.stored(id)).toMatchObject({ needsReview: false });
    expect(await scene.afterwards(id)).toEqual([]);
  });
});
