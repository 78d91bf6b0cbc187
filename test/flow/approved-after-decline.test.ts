import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/transactions/disposition.ts';
import { PinState } from '../../src/transactions/pin/pin-step.ts';
import { ReversalState } from '../../src/transactions/transaction.ts';
import { outcomeOf } from '../support/answers.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, type InstallationOptions, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { faultsIn } from '../support/log-lines.ts';
import { enterPin, tapForPin as tapForPinAt } from '../support/pins.ts';
import { refundSale, sellApproved, storedSale } from '../support/refunds.ts';
import { type ReceivedRequest, ScriptedSwitch } from '../support/scripted-switch.ts';
import { jobsOf, storedTransaction, trailOf, untilAnswered } from '../support/transactions.ts';
import { Backend, untilTold } from '../webhooks/backend.ts';
import { startReceiver } from '../webhooks/receiver.ts';

let scripted: ScriptedSwitch;
let installation: Installation;

beforeEach(async () => {
  scripted = await ScriptedSwitch.open();
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  await installation.stop();
  await scripted.close();
});

/** With one acquirer alone, so that every line is one of its own. */
async function install({ role = 'all', ...options }: InstallationOptions = {}): Promise<void> {
  const connectTo = async () => scripted.port;
  installation = await startInstallation({ profile: { deadlineMs: 2_500 }, connectTo, ...options, role: 'none' });
  for (const table of ['routes', 'processors'])
    await installation.database.query(`delete from ${table} where acquirer_id = 2`);
  if (role !== 'none') await installation.startGateway({ TAPWIRE_ROLE: role });
}

const stored = (id: string) => storedTransaction(installation.database, id);
const code = (responseCode: string) => ({ responseCode, authorizationCode: undefined });

function declineSales(): void {
  scripted.onRequest = ({ message, answer }) => answer(message.mti === '0200' ? code('91') : {});
}

async function declinedTap(): Promise<{ id: string; sale: ReceivedRequest }> {
  declineSales();
  const answer = outcomeOf(await installation.phone().tap({ amount: '100.00', currency: 'ZAR' }));
  expect(answer.type).toBe('Declined');
  return { id: answer.serviceReference, sale: await scripted.next('0200') };
}

const alarmsOf = (id: string) =>
  faultsIn(installation.logLines).filter((line) => line.id === id && line.msg.includes('a person must look'));

async function expectReversed(id: string, sale: ReceivedRequest): Promise<void> {
  const reversal = await scripted.next('0420');
  const { stan, rrn, transmissionDateTime } = sale.message;
  expect(reversal.message).toMatchObject({ stan, rrn, authorizationCode: '123456', reasonCode: '4006' });
  expect(reversal.message.originalElements).toMatch(new RegExp(`^0200${stan}${transmissionDateTime}`));
  await eventually(() => expect(alarmsOf(id)).toHaveLength(1));
}

function untilDeclinedAndReversed(id: string) {
  return eventually(async () =>
    expect(await stored(id)).toMatchObject({
      disposition: Disposition.Declined,
      needsReview: true,
      reversalState: ReversalState.acknowledged,
    }),
  );
}

describe('a sale that was declined and is approved afterwards', () => {
  test('is reversed, and stays Declined and in review', async () => {
    await install();
    const { id, sale } = await declinedTap();
    sale.answer();
    await expectReversed(id, sale);
    await untilDeclinedAndReversed(id);
    expect((await trailOf(installation.database, id)).filter((entry) => /^(late|reversal)/.test(entry))).toEqual([
      'late approved',
      'reversal sent 1',
      'reversal acknowledged 1',
    ]);
    await eventually(async () => expect(await jobsOf(installation.database, id)).toEqual([]));
  });

  test('after a restart, on the line of another gateway', async () => {
    await install({ role: 'none' });
    const before = await installation.startGateway();
    const { id, sale } = await declinedTap();
    await untilAnswered(installation.database, id);
    await before.stop();
    await installation.startGateway();
    sale.answer({}, { on: scripted.lines.at(-1)! });
    await expectReversed(id, sale);
    await untilDeclinedAndReversed(id);
  });

  test('by a response that cannot be read for certain is reversed as well', async () => {
    await install();
    const { id, sale } = await declinedTap();
    sale.answer({ amountMinor: 999 });
    await scripted.next('0420');
    await untilDeclinedAndReversed(id);
  });

  test('not if the same decline comes again, or another one', async () => {
    await install();
    const { id, sale } = await declinedTap();
    for (const again of ['91', '91', '51']) sale.answer(code(again));
    await eventually(async () => {
      const { strays } = await installation.switchStats();
      expect(strays).toMatchObject({ late: 1, duplicates: 2 });
    });
    expect(await stored(id)).toMatchObject({ reversalState: ReversalState.none, needsReview: false });
    expect(scripted.of('0420')).toEqual([]);
  });
});

describe('a refund that was declined and is approved afterwards', () => {
  async function declinedRefund(sale: string): Promise<{ id: string; request: ReceivedRequest }> {
    declineSales();
    const { body } = await refundSale(installation, sale, { amount: '100.00', refundReference: randomUUID() });
    const { serviceReference: id, type } = body as { serviceReference: string; type: string };
    expect(type).toBe('Declined');
    return { id, request: await scripted.next('0200') };
  }

  test('has its amount reserved again until its reversal is acknowledged', async () => {
    await install();
    const sale = await sellApproved(installation, '100.00');
    await scripted.next('0200');
    const { id, request } = await declinedRefund(sale);
    expect(await storedSale(installation.database, sale)).toMatchObject({ refundedMinor: 0 });
    scripted.hold('0420', '0421');
    request.answer();
    const reversal = await scripted.next('0420');
    expect(await storedSale(installation.database, sale)).toMatchObject({ refundedMinor: 10_000 });
    const second = await refundSale(installation, sale, { amount: '1.00', refundReference: randomUUID() });
    expect(second).toMatchObject({ status: 409, body: { errorCode: 213 } });
    reversal.answer();
    await untilDeclinedAndReversed(id);
    expect(await storedSale(installation.database, sale)).toMatchObject({ refundedMinor: 0, needsReview: false });
  });

  test('after a second refund was approved is reversed, and the sale is in review', async () => {
    await install();
    const sale = await sellApproved(installation, '100.00');
    await scripted.next('0200');
    const { id, request } = await declinedRefund(sale);
    scripted.hold('0420', '0421');
    const second = await refundSale(installation, sale, { amount: '100.00', refundReference: randomUUID() });
    expect(second).toMatchObject({ status: 200, body: { type: 'Approved' } });
    request.answer();
    const reversal = await scripted.next('0420');
    expect(await storedSale(installation.database, sale)).toMatchObject({ refundedMinor: 20_000, needsReview: true });
    reversal.answer();
    await untilDeclinedAndReversed(id);
    expect(await storedSale(installation.database, sale)).toMatchObject({ refundedMinor: 10_000, needsReview: true });
  });
});

describe('a tap that a PIN was asked for and that is approved afterwards', () => {
  const ASKS = { responseCode: '70', asksForPin: true, authorizationCode: undefined };

  async function tapForPin() {
    scripted.onRequest = ({ message, answer }) => answer(message.mti === '0200' ? ASKS : {});
    const phone = installation.phone();
    const asked = await tapForPinAt(phone, { amount: '100.00' });
    return { phone, asked, id: asked.id, sale: await scripted.next('0200') };
  }

  test('while the PIN is awaited is Declined, told so and reversed, and takes no PIN any more', async () => {
    await install();
    const receiver = await startReceiver();
    const secret = await (await Backend.open(installation)).listenAt(receiver.url);
    const { phone, asked, id, sale } = await tapForPin();
    sale.answer();
    await expectReversed(id, sale);
    await untilDeclinedAndReversed(id);
    expect(await untilTold(receiver, secret, id)).toMatchObject([{ disposition: 'Declined' }]);
    expect(await enterPin(phone, asked)).toMatchObject({ status: 409 });
    await eventually(async () => expect(await jobsOf(installation.database, id)).toEqual([]));
    await receiver.close();
  });

  test.each([
    ['is under way', false],
    ['was approved', true],
  ])('when the PIN %s has exactly that attempt reversed', async (_what, isDone) => {
    await install({ profile: { deadlineMs: 10_000 } });
    const { phone, asked, id, sale } = await tapForPin();
    await untilAnswered(installation.database, id);
    scripted.hold('0200');
    const entering = enterPin(phone, asked);
    const withPin = await scripted.next('0200');
    if (isDone) {
      withPin.answer();
      await entering;
    }
    sale.answer();
    await expectReversed(id, sale);
    expect(withPin.message.stan).not.toBe(sale.message.stan);
    if (!isDone) withPin.answer();
    expect(outcomeOf(await entering)).toMatchObject({ type: 'Approved' });
    await eventually(async () => {
      const { rows } = await installation.database.query(
        'select attempt, reversal_state from superseded_attempts where transaction_id = $1',
        [id],
      );
      expect(rows).toEqual([{ attempt: 1, reversal_state: ReversalState.acknowledged }]);
    });
    expect(await stored(id)).toMatchObject({
      attempt: 2,
      disposition: Disposition.Approved,
      reversalState: ReversalState.none,
      needsReview: true,
    });
    const { rows } = await installation.database.query('select pin_state from transactions where id = $1', [id]);
    expect(rows).toEqual([{ pin_state: PinState.done }]);
    expect(scripted.of('0421')).toEqual([]);
    await eventually(async () => expect(await jobsOf(installation.database, id)).toEqual([]));
  });
});
