import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { VoidResponse } from '../../schemas/refund.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState, VoidState } from '../../src/payments/model/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { type ScriptedOptions, scriptedInstallation, withCode } from '../support/scripted-installation.ts';
import type { ReceivedRequest } from '../support/scripted-switch.ts';
import { jobsOf, trailOf } from '../support/transactions.ts';
import { Backend, untilReported } from '../webhooks/backend.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

let receiver: Receiver;
let secret: string;

beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());
/** After the receiver, so that its gateways stop before that closes. */
const scene = scriptedInstallation();

/** With an installation of its own if it differs from the usual one. */
async function installWithReceiver(differences?: ScriptedOptions): Promise<void> {
  await (differences ? scene.installOwn(differences) : scene.install());
  secret = await (await Backend.open(scene.installation)).listenAt(receiver.url);
}

const storedSaleOf = (id: string) => storedSale(scene.installation.database, id);

interface VoidUnderWay {
  readonly sale: string;
  readonly voided: string;
  /** The 0420, without a response. */
  readonly first: ReceivedRequest;
}

/** A sale of 100.00 whose void was sent to the switch. */
async function startVoid(): Promise<VoidUnderWay> {
  const sale = await sellApproved(scene.installation, '100.00');
  scene.scripted.hold('0420', '0421');
  const { status, body } = await voidSale(scene.installation, sale);
  expect(status).toBe(202);
  return { sale, voided: (body as VoidResponse).serviceReference, first: await scene.scripted.next('0420') };
}

async function expectVoided({ sale, voided }: VoidUnderWay): Promise<void> {
  await eventually(async () => {
    expect(await storedSaleOf(sale)).toMatchObject({ disposition: Disposition.Voided, voidState: VoidState.done });
  });
  expect(await storedSaleOf(voided)).toMatchObject({ disposition: Disposition.Approved });
}

/** The sale is still booked, and nothing of it can be refunded; a person and the integrator are informed. */
async function expectInDoubt({ sale, voided }: VoidUnderWay): Promise<void> {
  await eventually(async () =>
    expect(await storedSaleOf(voided)).toMatchObject({ disposition: null, needsReview: true }),
  );
  expect(await storedSaleOf(sale)).toMatchObject({
    disposition: Disposition.Approved,
    voidState: VoidState.asked,
    needsReview: true,
  });
  expect((await scene.stored(sale)).reversalState).toBe(ReversalState.needsReview);
  const refunded = await refundSale(scene.installation, sale, { amount: '100.00', refundReference: randomUUID() });
  expect(refunded).toMatchObject({ status: 409, body: { errorCode: 213 } });
  expect(await voidSale(scene.installation, sale)).toMatchObject({ status: 409, body: { errorCode: 213 } });
  expect(await untilReported(receiver, secret, voided)).toMatchObject([
    { type: 'void.needsReview', disposition: 'Indeterminate', serviceReference: voided, amount: 100 },
  ]);
}

describe('a void that took effect remains one', () => {
  test('a void that took effect remains one if its acknowledgement arrives after the deadline', async () => {
    await installWithReceiver();
    const under = await startVoid();
    await scene.untilTimedOut(1);
    under.first.respond();
    await expectVoided(under);
    expect(scene.scripted.of('0421')).toEqual([]);
    await scene.untilAtRest(under.sale);
    expect(await scene.counters()).toMatchObject({ late: 1 });
  });

  test('a void that took effect remains one if two refusals of repeats overtake its acknowledgement', async () => {
    await installWithReceiver();
    const under = await startVoid();
    await scene.untilTimedOut(1);
    (await scene.nextRepeat(under.sale)).respond(withCode('57'));
    (await scene.nextRepeat(under.sale)).respond(withCode('57'));
    await expectInDoubt(under);
    under.first.respond();
    await expectVoided(under);
  });

  test('a void that took effect remains one if its acknowledgement arrives at another worker, after a restart', async () => {
    await scene.installOwn({ role: 'none' });
    const before = await scene.installation.startGateway();
    const under = await startVoid();
    await scene.untilTimedOut(1);
    await before.stop();
    await scene.installation.startGateway();
    under.first.respond({}, { on: scene.scripted.lines.at(-1)! });
    await expectVoided(under);
  });
});

describe('a void is in doubt, and nothing can be refunded,', () => {
  test.each([
    '57',
    '25',
    '21',
  ])('a void is in doubt, and nothing can be refunded, if an attempt receives no response and two repeats receive %s', async (code) => {
    await installWithReceiver();
    const under = await startVoid();
    await scene.untilTimedOut(1);
    (await scene.nextRepeat(under.sale)).respond(withCode(code));
    (await scene.nextRepeat(under.sale)).respond(withCode(code));
    await expectInDoubt(under);
    await scene.untilAtRest(under.sale);
  });

  test('a void is in doubt, and nothing can be refunded, if the time for its attempts is over: it is reported, and a late acknowledgement still counts', async () => {
    await installWithReceiver();
    const under = await startVoid();
    await scene.untilTimedOut(1);
    await scene.letTimePass(under.sale, 73 * 3_600);
    await scene.scripted.next('0421');
    await expectInDoubt(under);
    under.first.respond();
    await expectVoided(under);
  });

  test('a void is in doubt, and nothing can be refunded, if the switch reported a fault before it refused', async () => {
    await installWithReceiver();
    const under = await startVoid();
    under.first.respond(withCode('96'));
    (await scene.nextRepeat(under.sale)).respond(withCode('57'));
    (await scene.nextRepeat(under.sale)).respond(withCode('57'));
    await expectInDoubt(under);
  });
});

describe('a switch that reports a fault refuses nothing:', () => {
  test.each(['06', '91', '96', 'ZZ'])('a void continues after %s twice until it is acknowledged', async (code) => {
    await installWithReceiver();
    const under = await startVoid();
    under.first.respond(withCode(code));
    (await scene.nextRepeat(under.sale)).respond(withCode(code));
    const third = await scene.nextRepeat(under.sale);
    expect(await storedSaleOf(under.voided)).toMatchObject({ disposition: null });
    expect(await storedSaleOf(under.sale)).toMatchObject({ voidState: VoidState.asked });
    third.respond();
    await expectVoided(under);
  });
});

test('no repeat is due before the deadline of the previous attempt', async () => {
  await installWithReceiver({ profile: { deadlineMs: 20_000 } });
  const under = await startVoid();
  const jobs = await jobsOf(scene.installation.database, under.sale);
  const job = jobs.find(({ data }) => data.reversalAttempt === 2);
  const sent = await scene.installation.database.query<{ at: number }>(
    `select (extract(epoch from max(at)) * 1000)::float8 as at from transaction_events where transaction_id = $1`,
    [under.sale],
  );
  expect(job!.startsAtMs - sent.rows[0]!.at).toBeGreaterThanOrEqual(19_500);
  under.first.respond();
  await expectVoided(under);
});

describe('a void that is permanently refused', () => {
  test('is reported: void.failed, Declined', async () => {
    await installWithReceiver();
    const under = await startVoid();
    under.first.respond(withCode('57'));
    (await scene.nextRepeat(under.sale)).respond(withCode('57'));
    await eventually(async () =>
      expect(await storedSaleOf(under.voided)).toMatchObject({ disposition: Disposition.Declined, needsReview: true }),
    );
    expect(await storedSaleOf(under.sale)).toMatchObject({ disposition: Disposition.Approved, voidState: null });
    expect(await untilReported(receiver, secret, under.voided)).toMatchObject([
      { type: 'void.failed', disposition: 'Declined', serviceReference: under.voided, amount: 100, currency: 'ZAR' },
    ]);
  });

  test('a void that is permanently refused and acknowledged afterwards is disputed: nothing can be refunded until a person has reviewed it', async () => {
    await installWithReceiver();
    const under = await startVoid();
    under.first.respond(withCode('57'));
    (await scene.nextRepeat(under.sale)).respond(withCode('57'));
    await eventually(async () =>
      expect(await storedSaleOf(under.voided)).toMatchObject({ disposition: Disposition.Declined }),
    );
    under.first.respond();
    await eventually(async () =>
      expect(await storedSaleOf(under.sale)).toMatchObject({
        disposition: Disposition.Approved,
        voidState: VoidState.disputed,
        needsReview: true,
      }),
    );
    expect(await trailOf(scene.installation.database, under.sale)).toContain('reversal needsReview 1');
    const refunded = await refundSale(scene.installation, under.sale, {
      amount: '1.00',
      refundReference: randomUUID(),
    });
    expect(refunded).toMatchObject({ status: 409, body: { errorCode: 213 } });
    const events = await untilReported(receiver, secret, under.voided, 2);
    expect(events.sort((one, other) => one.sequence - other.sequence)).toMatchObject([
      { type: 'void.failed', sequence: 2 },
      { type: 'void.needsReview', sequence: 3 },
    ]);
  });
});
