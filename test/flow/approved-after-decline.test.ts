import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { PinState } from '../../src/payments/model/pin.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { faultsIn } from '../support/log-lines.ts';
import { askedFor, enterPin, tapForPin as tapForPinAt } from '../support/pins.ts';
import { refundSale, sellApproved, storedSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { scriptedInstallation, withCode } from '../support/scripted-installation.ts';
import type { ReceivedRequest } from '../support/scripted-switch.ts';
import { untilResponded } from '../support/transactions.ts';
import { Backend, untilReported } from '../webhooks/backend.ts';
import { startReceiver } from '../webhooks/receiver.ts';

const scene = scriptedInstallation({ profile: { deadlineMs: 2_500 } });

function declineSales(): void {
  scene.scripted.onRequest = ({ message, respond }) => respond(message.mti === '0200' ? withCode('91') : {});
}

async function declinedTap(): Promise<{ id: string; sale: ReceivedRequest }> {
  declineSales();
  const response = outcomeOf(await scene.installation.phone().tap({ amount: '100.00', currency: 'ZAR' }));
  expect(response.type).toBe('Declined');
  return { id: response.serviceReference, sale: await scene.scripted.next('0200') };
}

const alarmsOf = (id: string) =>
  faultsIn(scene.installation.logLines).filter((line) => line.id === id && line.msg.includes('needs review'));

async function expectReversed(id: string, sale: ReceivedRequest): Promise<void> {
  const reversal = await scene.scripted.next('0420');
  const { stan, rrn, transmissionDateTime } = sale.message;
  expect(reversal.message).toMatchObject({ stan, rrn, authorizationCode: '123456', reasonCode: '4006' });
  expect(reversal.message.originalElements).toMatch(new RegExp(`^0200${stan}${transmissionDateTime}`));
  await eventually(() => expect(alarmsOf(id)).toHaveLength(1));
}

function untilDeclinedAndReversed(id: string) {
  return eventually(async () =>
    expect(await scene.stored(id)).toMatchObject({
      disposition: Disposition.Declined,
      needsReview: true,
      reversalState: ReversalState.acknowledged,
    }),
  );
}

describe('a sale that is approved after its decline', () => {
  test('is reversed, and stays Declined and in review', async () => {
    await scene.install();
    const { id, sale } = await declinedTap();
    sale.respond();
    await expectReversed(id, sale);
    await untilDeclinedAndReversed(id);
    expect(await scene.afterwards(id)).toEqual(['late approved', 'reversal sent 1', 'reversal acknowledged 1']);
    await scene.untilAtRest(id);
  });

  test('a sale that is approved after its decline is also reversed after a restart, on the connection of another gateway', async () => {
    await scene.installOwn({ role: 'none' });
    const before = await scene.installation.startGateway();
    const { id, sale } = await declinedTap();
    await untilResponded(scene.installation.database, id);
    await before.stop();
    await scene.installation.startGateway();
    sale.respond({}, { on: scene.scripted.lines.at(-1)! });
    await expectReversed(id, sale);
    await untilDeclinedAndReversed(id);
  });

  test('a sale that is approved after its decline and whose card was erased is in review, because no reversal can be built', async () => {
    await scene.install();
    const { id, sale } = await declinedTap();
    await scene.installation.database.query('update transactions set sealed_card = null where id = $1', [id]);
    sale.respond();
    await eventually(async () =>
      expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Declined, needsReview: true }),
    );
    await eventually(() => expect(alarmsOf(id).length).toBeGreaterThan(0));
    await scene.untilAtRest(id);
    expect(scene.scripted.of('0420')).toEqual([]);
  });

  test('a sale that is approved after its decline with a response that cannot be read with certainty is reversed as well', async () => {
    await scene.install();
    const { id, sale } = await declinedTap();
    sale.respond({ amountMinor: 999 });
    await scene.scripted.next('0420');
    await untilDeclinedAndReversed(id);
  });

  test('a declined sale is not reversed if the same decline comes again, or another one', async () => {
    await scene.install();
    const { id, sale } = await declinedTap();
    for (const again of ['91', '91', '51']) sale.respond(withCode(again));
    await eventually(async () => {
      expect(await scene.counters()).toMatchObject({ late: 1, duplicates: 2 });
    });
    expect(await scene.stored(id)).toMatchObject({ reversalState: ReversalState.none, needsReview: false });
    expect(scene.scripted.of('0420')).toEqual([]);
  });
});

describe('a refund that is approved after its decline', () => {
  async function declinedRefund(sale: string): Promise<{ id: string; request: ReceivedRequest }> {
    declineSales();
    const { body } = await refundSale(scene.installation, sale, { amount: '100.00', refundReference: randomUUID() });
    const { serviceReference: id, type } = body as { serviceReference: string; type: string };
    expect(type).toBe('Declined');
    return { id, request: await scene.scripted.next('0200') };
  }

  test('has its amount reserved again until a person has resolved it', async () => {
    await scene.install();
    const sale = await sellApproved(scene.installation, '100.00');
    await scene.scripted.next('0200');
    const { id, request } = await declinedRefund(sale);
    expect(await storedSale(scene.installation.database, sale)).toMatchObject({ refundedMinor: 0 });
    scene.scripted.hold('0420', '0421');
    request.respond();
    const reversal = await scene.scripted.next('0420');
    expect(await storedSale(scene.installation.database, sale)).toMatchObject({ refundedMinor: 10_000 });
    const second = await refundSale(scene.installation, sale, { amount: '1.00', refundReference: randomUUID() });
    expect(second).toMatchObject({ status: 409, body: { errorCode: 213 } });
    reversal.respond();
    await untilDeclinedAndReversed(id);
    expect(await storedSale(scene.installation.database, sale)).toMatchObject({
      refundedMinor: 10_000,
      needsReview: false,
    });
  });

  test('a refund that is approved after its decline and after a second refund is reversed, and the sale is in review', async () => {
    await scene.install();
    const sale = await sellApproved(scene.installation, '100.00');
    await scene.scripted.next('0200');
    const { id, request } = await declinedRefund(sale);
    scene.scripted.hold('0420', '0421');
    const second = await refundSale(scene.installation, sale, { amount: '100.00', refundReference: randomUUID() });
    expect(second).toMatchObject({ status: 200, body: { type: 'Approved' } });
    request.respond();
    const reversal = await scene.scripted.next('0420');
    expect(await storedSale(scene.installation.database, sale)).toMatchObject({
      refundedMinor: 20_000,
      needsReview: true,
    });
    reversal.respond();
    await untilDeclinedAndReversed(id);
    expect(await storedSale(scene.installation.database, sale)).toMatchObject({
      refundedMinor: 20_000,
      needsReview: true,
    });
  });
});

describe('a tap that is approved after its response required a PIN', () => {
  const ASKS = { responseCode: '70', asksForPin: true, authorizationCode: undefined };

  async function tapForPin() {
    scene.scripted.onRequest = ({ message, respond }) => respond(message.mti === '0200' ? ASKS : {});
    const phone = scene.installation.phone();
    const asked = await tapForPinAt(phone, { amount: '100.00' });
    return { phone, asked, id: asked.id, sale: await scene.scripted.next('0200') };
  }

  test('a tap that is approved while its PIN is awaited is Declined, reported and reversed, and no longer accepts a PIN', async () => {
    await scene.installOwn();
    const receiver = await startReceiver();
    const secret = await (await Backend.open(scene.installation)).listenAt(receiver.url);
    const { phone, asked, id, sale } = await tapForPin();
    sale.respond();
    await expectReversed(id, sale);
    await untilDeclinedAndReversed(id);
    expect(await untilReported(receiver, secret, id)).toMatchObject([{ disposition: 'Declined' }]);
    expect(await enterPin(phone, asked)).toMatchObject({ status: 409 });
    await scene.untilAtRest(id);
    await receiver.close();
  });

  test.each([
    ['is under way', false],
    ['was approved', true],
  ])('a tap that is approved after the PIN %s has exactly that attempt reversed', async (_what, isDone) => {
    await scene.installOwn({ profile: { deadlineMs: 10_000 } });
    const { phone, asked, id, sale } = await tapForPin();
    await untilResponded(scene.installation.database, id);
    scene.scripted.hold('0200');
    const entering = enterPin(phone, asked);
    const withPin = await scene.scripted.next('0200');
    if (isDone) {
      withPin.respond();
      await entering;
    }
    sale.respond();
    await expectReversed(id, sale);
    expect(withPin.message.stan).not.toBe(sale.message.stan);
    if (!isDone) withPin.respond();
    expect(outcomeOf(await entering)).toMatchObject({ type: 'Approved' });
    await eventually(async () => {
      const { rows } = await scene.installation.database.query(
        'select attempt, reversal_state from superseded_attempts where transaction_id = $1',
        [id],
      );
      expect(rows).toEqual([{ attempt: 1, reversal_state: ReversalState.acknowledged }]);
    });
    expect(await scene.stored(id)).toMatchObject({
      attempt: 2,
      disposition: Disposition.Approved,
      reversalState: ReversalState.none,
      needsReview: true,
    });
    const { rows } = await scene.installation.database.query('select pin_state from transactions where id = $1', [id]);
    expect(rows).toEqual([{ pin_state: PinState.done }]);
    expect(scene.scripted.of('0421')).toEqual([]);
    await scene.untilAtRest(id);
  });

  test('a tap that is approved while a second PIN is awaited accepts no PIN: the first message may have taken the amount', async () => {
    await scene.installOwn({ profile: { deadlineMs: 10_000 } });
    const { phone, asked, id, sale } = await tapForPin();
    scene.scripted.hold('0200');
    const entering = enterPin(phone, asked);
    (await scene.scripted.next('0200')).respond(withCode('55'));
    const again = askedFor(asked.reading, await entering);
    sale.respond();
    await expectReversed(id, sale);
    const sent = scene.scripted.of('0200').length;
    expect(await enterPin(phone, again)).toMatchObject({ status: 409 });
    expect(scene.scripted.of('0200')).toHaveLength(sent);
  });
});
