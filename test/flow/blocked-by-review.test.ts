import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { RefundResponse, VoidResponse } from '../../schemas/refund.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { consoleClient } from '../support/console-client.ts';
import { eventually } from '../support/eventually.ts';
import { AppPhone, createLink, creationOf, type HandedLink, offeredReference } from '../support/links.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { reviewsIn } from '../support/reviews.ts';
import { scriptedInstallation, withCode } from '../support/scripted-installation.ts';
import type { ReceivedRequest } from '../support/scripted-switch.ts';
import { letDoubtPass, untilResponded } from '../support/transactions.ts';

/** Until a person has resolved a review, no money moves that depends on it. */
const scene = scriptedInstallation({ profile: { deadlineMs: 2_500 } });
const { logIn, act, look } = consoleClient(() => scene.installation);
const { resolve } = reviewsIn(scene, { act, look });
beforeEach(() => scene.install());

const stored = (id: string) => storedSale(scene.installation.database, id);
const refundOf = (sale: string, amount = '100.00') =>
  refundSale(scene.installation, sale, { amount, refundReference: randomUUID() });
const IN_REVIEW = { status: 409, body: { errorCode: 213 } };

async function settle(id: string, books: string): Promise<void> {
  expect((await resolve(await logIn({ acquirerId: 1 }, 'operator'), id, books)).status).toBe(204);
}

async function expectBlocked(sale: string): Promise<void> {
  const sent = scene.scripted.requests.length;
  expect(await refundOf(sale)).toMatchObject(IN_REVIEW);
  expect(await refundOf(sale, '1.00')).toMatchObject(IN_REVIEW);
  expect(await voidSale(scene.installation, sale)).toMatchObject(IN_REVIEW);
  expect(scene.scripted.requests).toHaveLength(sent);
}

async function declinedRefund(sale: string, code: string): Promise<{ id: string; request: ReceivedRequest }> {
  scene.scripted.forget();
  scene.scripted.onRequest = ({ message, respond }) => respond(message.mti === '0200' ? withCode(code) : {});
  const { body } = await refundOf(sale);
  const { serviceReference: id, type } = body as RefundResponse;
  expect(type).toBe('Declined');
  await untilResponded(scene.installation.database, id);
  return { id, request: await scene.scripted.next('0200') };
}

describe('a refund in review', () => {
  test('a refund in review that the switch calls a duplicate keeps its amount, and nothing else is refunded or voided', async () => {
    const sale = await sellApproved(scene.installation, '100.00');
    const { id } = await declinedRefund(sale, '94');
    scene.scripted.hold();
    expect(await stored(id)).toMatchObject({ disposition: Disposition.Declined, needsReview: true });
    expect(await stored(sale)).toMatchObject({ refundedMinor: 10_000 });
    await expectBlocked(sale);
    await settle(id, 'adjusted');
    expect(await stored(sale)).toMatchObject({ refundedMinor: 0, needsReview: false });
    expect(await refundOf(sale)).toMatchObject({ status: 200, body: { type: 'Approved' } });
  });

  test('a refund in review that was approved late, and that the switch then cannot locate, keeps its amount', async () => {
    const sale = await sellApproved(scene.installation, '100.00');
    const { id, request } = await declinedRefund(sale, '91');
    expect(await stored(sale)).toMatchObject({ refundedMinor: 0 });
    scene.scripted.hold('0420', '0421');
    request.respond();
    await scene.respond('0420', '25');
    await scene.untilReversal(id, 'confirming', 1);
    await letDoubtPass(scene.installation.database, id);
    await scene.respond('0421', '25');
    await scene.untilReversal(id, 'acknowledged', 2);
    await scene.untilAtRest(id);
    scene.scripted.hold();
    expect(await stored(sale)).toMatchObject({ refundedMinor: 10_000 });
    await expectBlocked(sale);
    await settle(id, 'adjusted');
    expect(await refundOf(sale)).toMatchObject({ status: 200, body: { type: 'Approved' } });
  });

  test('a refund in review that contradicts what a person found has its amount reserved again', async () => {
    const sale = await sellApproved(scene.installation, '100.00');
    const { id, request } = await declinedRefund(sale, '94');
    await settle(id, 'adjusted');
    for (const code of ['00', '10']) request.respond({ responseCode: code });
    await eventually(async () => expect(await scene.afterwards(id)).toEqual(['late approved', 'late unknown']));
    expect(await stored(sale)).toMatchObject({ refundedMinor: 10_000 });
    scene.scripted.hold();
    await expectBlocked(sale);
    await settle(id, 'adjusted');
    expect(await stored(sale)).toMatchObject({ refundedMinor: 0 });
  });
});

describe('a sale in review', () => {
  test('is neither refunded nor voided', async () => {
    const sale = await sellApproved(scene.installation, '100.00');
    await scene.installation.database.query('update transactions set needs_review = true where id = $1', [sale]);
    await expectBlocked(sale);
    await settle(sale, 'approved');
    expect((await voidSale(scene.installation, sale)).status).toBe(202);
    await eventually(async () => expect(await stored(sale)).toMatchObject({ disposition: Disposition.Voided }));
  });

  test('a sale in review because the switch refused its void is neither refunded nor voided', async () => {
    const sale = await sellApproved(scene.installation, '100.00');
    scene.scripted.hold('0420', '0421');
    const { serviceReference: voided } = (await voidSale(scene.installation, sale)).body as VoidResponse;
    await scene.respond('0420', '57');
    (await scene.nextRepeat(sale)).respond(withCode('57'));
    await eventually(async () => expect(await stored(voided)).toMatchObject({ disposition: Disposition.Declined }));
    await scene.untilAtRest(sale);
    scene.scripted.hold();
    await expectBlocked(sale);
    await settle(sale, 'approved');
    expect(await refundOf(sale)).toMatchObject({ status: 200, body: { type: 'Approved' } });
  });
});

describe('a tap in review', () => {
  const pay = async (link: HandedLink) =>
    new AppPhone(scene.installation, link).pay({ merchantReference: await offeredReference(scene.installation, link) });

  test('holds its link and the reference of its customer until a person has resolved it', async () => {
    const link = await createLink(scene.installation);
    scene.scripted.onRequest = ({ message, respond }) => respond(message.mti === '0200' ? withCode('94') : {});
    const { serviceReference: id, type } = outcomeOf(await pay(link));
    expect(type).toBe('Declined');
    await untilResponded(scene.installation.database, id);
    scene.scripted.hold();
    const sent = scene.scripted.requests.length;
    expect(problemOf(await pay(link))).toMatchObject({ status: 409, errorCode: 124 });
    expect(await creationOf(scene.installation, link.paymentReference)).toBe(409);
    expect(scene.scripted.requests).toHaveLength(sent);
    await settle(id, 'voided');
    expect(outcomeOf(await pay(link)).type).toBe('Approved');
  });

  test('a tap in review that is reversed late, and found voided by a person, releases its link', async () => {
    const link = await createLink(scene.installation);
    scene.scripted.onRequest = ({ message, respond }) => respond(message.mti === '0200' ? withCode('91') : {});
    const { serviceReference: id } = outcomeOf(await pay(link));
    await untilResponded(scene.installation.database, id);
    const request = await scene.scripted.next('0200');
    scene.scripted.hold('0420', '0421');
    request.respond();
    const reversal = await scene.scripted.next('0420');
    expect(problemOf(await pay(link))).toMatchObject({ status: 409, errorCode: 124 });
    reversal.respond();
    await scene.untilReversal(id, 'acknowledged', 1);
    await scene.untilAtRest(id);
    expect(problemOf(await pay(link))).toMatchObject({ status: 409, errorCode: 124 });
    await settle(id, 'voided');
    scene.scripted.hold();
    expect(outcomeOf(await pay(link)).type).toBe('Approved');
  });

  test('holds its link although another tap on the link was declined since', async () => {
    const link = await createLink(scene.installation);
    scene.scripted.hold('0200');
    const paying = pay(link);
    const first = await scene.scripted.next('0200');
    const { serviceReference: id, type } = outcomeOf(await paying);
    expect(type).toBe('Indeterminate');
    await scene.untilReversal(id, 'acknowledged', 1);
    await scene.untilAtRest(id);
    scene.scripted.onRequest = ({ message, respond }) => respond(withCode(message.mti === '0200' ? '51' : '94'));
    expect(outcomeOf(await pay(link)).type).toBe('Declined');
    first.respond();
    await scene.untilReversal(id, 'needsReview', 2);
    await scene.untilAtRest(id);
    scene.scripted.hold();
    const sent = scene.scripted.requests.length;
    expect(problemOf(await pay(link))).toMatchObject({ status: 409, errorCode: 124 });
    expect(await creationOf(scene.installation, link.paymentReference)).toBe(409);
    expect(scene.scripted.requests).toHaveLength(sent);
    await settle(id, 'voided');
    expect(outcomeOf(await pay(link)).type).toBe('Approved');
  });
});
