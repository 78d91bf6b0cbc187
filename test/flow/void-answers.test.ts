import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { VoidAnswer } from '../../schemas/refund.ts';
import { Disposition } from '../../src/transactions/disposition.ts';
import { ReversalState, VoidState } from '../../src/transactions/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, type InstallationOptions, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { type ReceivedRequest, ScriptedSwitch } from '../support/scripted-switch.ts';
import { jobsOf, letTimePass, storedTransaction, trailOf } from '../support/transactions.ts';
import { Backend, untilTold } from '../webhooks/backend.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

let scripted: ScriptedSwitch;
let installation: Installation;
let receiver: Receiver;
let secret: string;

beforeEach(async () => {
  scripted = await ScriptedSwitch.open();
  receiver = await startReceiver();
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  await installation.stop();
  await receiver.close();
  await scripted.close();
});

/** With one acquirer alone, so that every line is one of its own. */
async function install({ role = 'all', ...options }: InstallationOptions = {}): Promise<void> {
  const connectTo = async () => scripted.port;
  installation = await startInstallation({ profile: { deadlineMs: 1_000 }, connectTo, ...options, role: 'none' });
  for (const table of ['routes', 'processors'])
    await installation.database.query(`delete from ${table} where acquirer_id = 2`);
  if (role !== 'none') await installation.startGateway({ TAPWIRE_ROLE: role });
  if (role !== 'none') secret = await (await Backend.open(installation)).listenAt(receiver.url);
}

const A_WHILE = 60;
const stored = (id: string) => storedSale(installation.database, id);
const withCode = (responseCode: string) => ({ responseCode, authorizationCode: undefined });

interface VoidUnderWay {
  readonly sale: string;
  readonly voided: string;
  /** The 0420, which no one has answered. */
  readonly first: ReceivedRequest;
}

/** A sale of 100.00 whose void has left for the switch. */
async function startVoid(): Promise<VoidUnderWay> {
  const sale = await sellApproved(installation, '100.00');
  scripted.hold('0420', '0421');
  const { status, body } = await voidSale(installation, sale);
  expect(status).toBe(202);
  return { sale, voided: (body as VoidAnswer).serviceReference, first: await scripted.next('0420') };
}

/** Waits until so many reversals have had no answer in time. */
function untilTimedOut(count: number): Promise<void> {
  return eventually(async () => expect((await installation.switchStats()).timedOut).toBe(count));
}

/** The repeat that is due, once the attempt before has its answer, or will have none in time. */
async function nextRepeat(sale: string, number: number): Promise<ReceivedRequest> {
  await eventually(async () => {
    await letTimePass(installation.database, sale, A_WHILE);
    expect(scripted.of('0421').length).toBeGreaterThan(number - 2);
  });
  return scripted.next('0421');
}

async function expectVoided({ sale, voided }: VoidUnderWay): Promise<void> {
  await eventually(async () => {
    expect(await stored(sale)).toMatchObject({ disposition: Disposition.Voided, voidState: VoidState.done });
  });
  expect(await stored(voided)).toMatchObject({ disposition: Disposition.Approved });
}

/** The sale stands in the books, and nothing of it can be given back; a person and the integrator know. */
async function expectInDoubt({ sale, voided }: VoidUnderWay): Promise<void> {
  await eventually(async () => expect(await stored(voided)).toMatchObject({ disposition: null, needsReview: true }));
  expect(await stored(sale)).toMatchObject({
    disposition: Disposition.Approved,
    voidState: VoidState.asked,
    needsReview: true,
  });
  expect((await storedTransaction(installation.database, sale)).reversalState).toBe(ReversalState.needsReview);
  const refunded = await refundSale(installation, sale, { amount: '100.00', refundReference: randomUUID() });
  expect(refunded).toMatchObject({ status: 409, body: { errorCode: 213 } });
  expect(await voidSale(installation, sale)).toMatchObject({ status: 409, body: { errorCode: 213 } });
  expect(await untilTold(receiver, secret, voided)).toMatchObject([
    { type: 'void.needsReview', disposition: 'Indeterminate', serviceReference: voided, amount: 100 },
  ]);
}

describe('a void that took effect stays one', () => {
  test('when its acknowledgement comes after the deadline', async () => {
    await install();
    const under = await startVoid();
    await untilTimedOut(1);
    under.first.answer();
    await expectVoided(under);
    expect(scripted.of('0421')).toEqual([]);
    await eventually(async () => expect(await jobsOf(installation.database, under.sale)).toEqual([]));
    expect((await installation.switchStats()).strays).toMatchObject({ late: 1 });
  });

  test('when its acknowledgement is overtaken by two refusals of repeats', async () => {
    await install();
    const under = await startVoid();
    await untilTimedOut(1);
    (await nextRepeat(under.sale, 2)).answer(withCode('57'));
    (await nextRepeat(under.sale, 3)).answer(withCode('57'));
    await expectInDoubt(under);
    under.first.answer();
    await expectVoided(under);
  });

  test('when its acknowledgement comes to another worker, after a restart', async () => {
    await install({ role: 'none' });
    const before = await installation.startGateway();
    const under = await startVoid();
    await untilTimedOut(1);
    await before.stop();
    await installation.startGateway();
    under.first.answer({}, { on: scripted.lines.at(-1)! });
    await expectVoided(under);
  });
});

describe('a void is in doubt, and nothing can be given back,', () => {
  test.each(['57', '25', '21'])('when an attempt is unanswered and two repeats are answered %s', async (code) => {
    await install();
    const under = await startVoid();
    await untilTimedOut(1);
    (await nextRepeat(under.sale, 2)).answer(withCode(code));
    (await nextRepeat(under.sale, 3)).answer(withCode(code));
    await expectInDoubt(under);
    await eventually(async () => expect(await jobsOf(installation.database, under.sale)).toEqual([]));
  });

  test('when the time for its attempts is over: it is told, and a late acknowledgement still counts', async () => {
    await install();
    const under = await startVoid();
    await untilTimedOut(1);
    await letTimePass(installation.database, under.sale, 73 * 3_600);
    await scripted.next('0421');
    await expectInDoubt(under);
    under.first.answer();
    await expectVoided(under);
  });

  test('when the switch was in trouble before it refused', async () => {
    await install();
    const under = await startVoid();
    under.first.answer(withCode('96'));
    (await nextRepeat(under.sale, 2)).answer(withCode('57'));
    (await nextRepeat(under.sale, 3)).answer(withCode('57'));
    await expectInDoubt(under);
  });
});

describe('a switch in trouble refuses nothing:', () => {
  test.each(['06', '91', '96', 'ZZ'])('after %s twice the void goes on until it is acknowledged', async (code) => {
    await install();
    const under = await startVoid();
    under.first.answer(withCode(code));
    (await nextRepeat(under.sale, 2)).answer(withCode(code));
    const third = await nextRepeat(under.sale, 3);
    expect(await stored(under.voided)).toMatchObject({ disposition: null });
    expect(await stored(under.sale)).toMatchObject({ voidState: VoidState.asked });
    third.answer();
    await expectVoided(under);
  });
});

test('no repeat is due before the deadline of the attempt before it', async () => {
  await install({ profile: { deadlineMs: 20_000 } });
  const under = await startVoid();
  const jobs = await jobsOf(installation.database, under.sale);
  const job = jobs.find(({ data }) => data.reversalAttempt === 2);
  const sent = await installation.database.query<{ at: number }>(
    `select (extract(epoch from max(at)) * 1000)::float8 as at from transaction_events where transaction_id = $1`,
    [under.sale],
  );
  expect(job!.startsAtMs - sent.rows[0]!.at).toBeGreaterThanOrEqual(19_500);
  under.first.answer();
  await expectVoided(under);
});

describe('a void that is refused for good', () => {
  test('is told: void.failed, Declined', async () => {
    await install();
    const under = await startVoid();
    under.first.answer(withCode('57'));
    (await nextRepeat(under.sale, 2)).answer(withCode('57'));
    await eventually(async () =>
      expect(await stored(under.voided)).toMatchObject({ disposition: Disposition.Declined, needsReview: true }),
    );
    expect(await stored(under.sale)).toMatchObject({ disposition: Disposition.Approved, voidState: null });
    expect(await untilTold(receiver, secret, under.voided)).toMatchObject([
      { type: 'void.failed', disposition: 'Declined', serviceReference: under.voided, amount: 100, currency: 'ZAR' },
    ]);
  });

  test('and acknowledged afterwards is disputed: nothing can be given back until a person has looked', async () => {
    await install();
    const under = await startVoid();
    under.first.answer(withCode('57'));
    (await nextRepeat(under.sale, 2)).answer(withCode('57'));
    await eventually(async () =>
      expect(await stored(under.voided)).toMatchObject({ disposition: Disposition.Declined }),
    );
    under.first.answer();
    await eventually(async () =>
      expect(await stored(under.sale)).toMatchObject({
        disposition: Disposition.Approved,
        voidState: VoidState.disputed,
        needsReview: true,
      }),
    );
    expect(await trailOf(installation.database, under.sale)).toContain('reversal needsReview 1');
    const refunded = await refundSale(installation, under.sale, { amount: '1.00', refundReference: randomUUID() });
    expect(refunded).toMatchObject({ status: 409, body: { errorCode: 213 } });
    const events = await untilTold(receiver, secret, under.voided, 2);
    expect(events.sort((one, other) => one.sequence - other.sequence)).toMatchObject([
      { type: 'void.failed', sequence: 2 },
      { type: 'void.needsReview', sequence: 3 },
    ]);
  });
});
