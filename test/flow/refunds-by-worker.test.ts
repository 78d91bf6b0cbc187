import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RefundResponse } from '../../schemas/refund.ts';
import { eventually } from '../support/eventually.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { type Installation, type StartedGateway, startInstallation } from '../support/installation.ts';
import { expectInvariants, expectSoundStates } from '../support/invariants.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { jobsOf, letTimePass, storedTransactions, trailOf, untilResponded } from '../support/transactions.ts';

let installation: Installation;
let worker: StartedGateway;
let sale: string;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api' });
  worker = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
  // An api process looks for workers every two seconds.
  await eventually(async () => {
    const response = outcomeOf(await installation.phone().tap({ amount: '1.00', currency: 'ZAR' }));
    expect(response.type).toBe('Approved');
  });
  sale = await sellApproved(installation, '100.00');
});
afterAll(() => installation.stop());

const newest = async () => (await storedTransactions(installation.database)).at(-1)!.id;

test.each([
  ['10.00', 'Approved', '00', 1_000],
  ['10.51', 'Declined', '51', 1_000],
])('a refund of %s that an api process accepts is %s by a worker', async (amount, type, isoResponseCode, refundedMinor) => {
  const { database } = installation;
  const { status, body } = await refundSale(installation, sale, { amount, refundReference: randomUUID() });
  expect({ status, body }).toMatchObject({ status: 200, body: { type, isoResponseCode } });
  const { serviceReference } = body as RefundResponse;
  await untilResponded(database, serviceReference);
  expect(await trailOf(database, serviceReference)).toEqual([
    'RequestReceived',
    'ReadyToSubmitToPaymentProcessor',
    'SubmittedToPaymentProcessor',
    'ResponseReceivedFromPaymentProcessor',
    'RespondedToPhone',
  ]);
  expect(await storedSale(database, sale)).toMatchObject({ refundedMinor });
  await eventually(async () => expect(await jobsOf(database, serviceReference)).toEqual([]));
  await expectInvariants(installation);
});

test('a void that an api process accepts is sent by a worker', async () => {
  const { database } = installation;
  const other = await sellApproved(installation, '30.00');
  expect((await voidSale(installation, other)).status).toBe(202);
  await eventually(async () => expect(await storedSale(database, other)).toMatchObject({ disposition: 5 }));
  await expectInvariants(installation);
});

test('a refund without a worker keeps its reservation as long as it waits, and is finally UnableToGoOnline', async () => {
  const { database } = installation;
  await worker.stop();
  const { authorizations } = installation.asked;
  const response = refundSale(installation, sale, { amount: '20.00', refundReference: randomUUID() });
  await eventually(async () => expect(await storedSale(database, sale)).toMatchObject({ refundedMinor: 3_000 }));
  const id = await newest();
  await expectSoundStates(database);
  expect((await jobsOf(database, id)).map(({ queue }) => queue)).toEqual(['overdue', 'refund']);
  const { rows } = await database.query('select sealed_card, handover from transactions where id = $1', [id]);
  expect(rows).toEqual([{ sealed_card: null, handover: null }]);
  await letTimePass(database, id, 60);
  const other = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
  expect(await response).toMatchObject({ status: 200, body: { type: 'UnableToGoOnline', errorCode: 210 } });
  expect(await storedSale(database, sale)).toMatchObject({ refundedMinor: 1_000 });
  expect(installation.asked.authorizations).toBe(authorizations);
  await untilResponded(database, id);
  await expectInvariants(installation);
  await other.stop();
});

test('a refund whose worker is killed during its request is Indeterminate, and keeps its reservation until it is reversed', async () => {
  const { database } = installation;
  const killed = await GatewayProcess.start(installation, 'worker');
  const response = refundSale(installation, sale, { amount: '20.69', refundReference: randomUUID() });
  const id = await eventually(async () => {
    const found = (await storedTransactions(database)).at(-1)!;
    expect(found.status).toBe('SubmittedToPaymentProcessor');
    return found.id;
  });
  await eventually(() => expect(refundAtSwitch(2_069)).toMatchObject({ state: 'approved' }));
  await killed.kill('SIGKILL');
  await expectSoundStates(database);
  const other = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
  expect(await response).toMatchObject({ status: 200, body: { type: 'Indeterminate', serviceReference: id } });
  expect(await storedSale(database, sale)).toMatchObject({ refundedMinor: 1_000 + 2_069 });
  await letTimePass(database, id, 90); // until its reversal may use another connection
  await eventually(async () => {
    await letTimePass(database, id, 90); // and is confirmed
    expect(await storedSale(database, id)).toMatchObject({ disposition: 5 });
  });
  expect(refundAtSwitch(2_069)).toMatchObject({ state: 'reversed' });
  expect(await storedSale(database, sale)).toMatchObject({ disposition: 0, refundedMinor: 1_000 });
  await other.stop();
});

function refundAtSwitch(amountMinor: number) {
  return installation.ledger.find((entry) => entry.kind === 'refund' && entry.amountMinor === amountMinor);
}
