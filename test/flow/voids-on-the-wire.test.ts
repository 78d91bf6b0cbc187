import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { RefundResponse, VoidResponse } from '../../schemas/refund.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { VoidState } from '../../src/payments/model/transaction.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { consoleClient } from '../support/console-client.ts';
import { eventually } from '../support/eventually.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { reviewsIn } from '../support/reviews.ts';
import { scriptedInstallation, withCode } from '../support/scripted-installation.ts';
import { jobsOf, trailOf, untilResponded } from '../support/transactions.ts';

const MAC_KEYS = { macKeys: [{ number: 1, keyId: 'type-1-mac' }] };

const scene = scriptedInstallation({ config: MAC_KEYS }, async () => {
  const config = { ...(await loadProcessors()).get('type-1')!.exampleConfig, ...MAC_KEYS };
  const hsm = demoHsm([config], 'dev');
  return { config, macKeys: (keyId, method) => hsm.keyMac(keyId, method) };
});
const { logIn, act, look } = consoleClient(() => scene.installation);
const { resolve } = reviewsIn(scene, { act, look });
beforeEach(() => scene.install());

const NO = withCode('57');

const stored = (id: string) => storedSale(scene.installation.database, id);

async function startVoid(sale: string): Promise<string> {
  const { status, body } = await voidSale(scene.installation, sale);
  expect(status).toBe(202);
  return (body as VoidResponse).serviceReference;
}

test("a void is the sale's reversal with reason 4000 and its DE38, repeated as 0421 with the same STAN", async () => {
  const sale = await sellApproved(scene.installation, '10.00');
  const { message: sold } = await scene.scripted.next('0200');
  scene.scripted.hold('0420', '0421');
  await startVoid(sale);
  const { message: first } = await scene.scripted.next('0420');
  expect(first).toMatchObject({ stan: sold.stan, rrn: sold.rrn, tid: sold.tid, amount: sold.amount });
  expect(first).toMatchObject({ reasonCode: '4000', authorizationCode: '123456' });
  expect(first.originalElements).toMatch(new RegExp(`^0200${sold.stan}${sold.transmissionDateTime}`));
  const repeat = await scene.nextRepeat(sale);
  expect(repeat.message).toMatchObject({
    stan: sold.stan,
    reasonCode: '4000',
    originalElements: first.originalElements,
  });
  repeat.respond();
  await eventually(async () => expect(await stored(sale)).toMatchObject({ disposition: Disposition.Voided }));
});

test('a refund contains its amount and its sale', async () => {
  const sale = await sellApproved(scene.installation, '10.00');
  const { message: sold } = await scene.scripted.next('0200');
  const { body } = await refundSale(scene.installation, sale, { amount: '4.00', refundReference: randomUUID() });
  const { serviceReference, paymentProviderReference } = body as RefundResponse;
  const { message } = await scene.scripted.next('0200');
  expect(message).toMatchObject({ processingCode: '200000', amount: '000000000400', pan: sold.pan, tid: sold.tid });
  expect(message.stan).not.toBe(sold.stan);
  expect(message.rrn).toBe(paymentProviderReference);
  expect(message.switchData).toMatchObject({ originalKey: `${sold.transmissionDateTime}${sold.rrn}` });
  expect(message.track2 ?? message.pinBlock).toBeUndefined();
  await untilResponded(scene.installation.database, serviceReference);
});

describe('a void that the switch refuses', () => {
  test('a void that the switch refuses once is repeated, and is completed when that is acknowledged', async () => {
    const sale = await sellApproved(scene.installation, '10.00');
    scene.scripted.hold('0420', '0421');
    const voided = await startVoid(sale);
    (await scene.scripted.next('0420')).respond(NO);
    (await scene.nextRepeat(sale)).respond();
    await eventually(async () => expect(await stored(sale)).toMatchObject({ disposition: Disposition.Voided }));
    expect(await stored(voided)).toMatchObject({ disposition: Disposition.Approved, needsReview: false });
  });

  test('twice is Declined, and the sale can be voided again when a person has resolved it', async () => {
    const { database } = scene.installation;
    const sale = await sellApproved(scene.installation, '10.00');
    scene.scripted.hold('0420', '0421');
    const refused = await startVoid(sale);
    (await scene.scripted.next('0420')).respond(NO);
    (await scene.nextRepeat(sale)).respond(NO);
    await eventually(async () =>
      expect(await stored(refused)).toMatchObject({ disposition: Disposition.Declined, needsReview: true }),
    );
    expect(await stored(sale)).toMatchObject({ disposition: Disposition.Approved, voidState: null });
    await eventually(async () => expect(await jobsOf(database, sale)).toEqual([]));
    expect(await voidSale(scene.installation, sale)).toMatchObject({ status: 409, body: { errorCode: 213 } });
    const session = await logIn({ acquirerId: 1 }, 'operator');
    expect((await resolve(session, sale, 'approved')).status).toBe(204);
    const again = await startVoid(sale);
    (await scene.scripted.next('0420')).respond();
    await eventually(async () => expect(await stored(sale)).toMatchObject({ voidState: VoidState.done }));
    expect(await stored(again)).toMatchObject({ disposition: Disposition.Approved });
    expect((await trailOf(database, sale)).slice(-9)).toEqual([
      'void',
      'reversal sent 1',
      'response refused 1',
      'reversal sent 2',
      'reversal refused 2',
      'resolution approved',
      'void',
      'reversal sent 1',
      'reversal acknowledged 1',
    ]);
  });
});

test('refusals with a wrong MAC refuse no void', async () => {
  const sale = await sellApproved(scene.installation, '10.00');
  scene.scripted.hold('0420', '0421');
  const voided = await startVoid(sale);
  (await scene.scripted.next('0420')).respond(NO, { isMacSpoilt: true });
  (await scene.nextRepeat(sale)).respond(NO, { isMacSpoilt: true });
  await eventually(async () => {
    await scene.letTimePass(sale, 180);
    expect(scene.scripted.of('0421')).toHaveLength(2);
  });
  expect(await stored(voided)).toMatchObject({ disposition: null });
  expect(await stored(sale)).toMatchObject({ disposition: Disposition.Approved, voidState: VoidState.asked });
  (await scene.scripted.next('0421')).respond();
  await eventually(async () => expect(await stored(sale)).toMatchObject({ disposition: Disposition.Voided }));
});
