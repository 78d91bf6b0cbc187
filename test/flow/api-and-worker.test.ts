import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, type StartedGateway, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { jobsOf, storedTransaction, storedTransactions, trailOf, untilResponded } from '../support/transactions.ts';

/** A hundred taps at once take time on a busy machine. */
const DEADLINE_MS = 8_000;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api', profile: { deadlineMs: DEADLINE_MS } });
});
afterAll(() => installation.stop());

const SUBMITTED = ['RequestReceived', 'ReadyToSubmitToPaymentProcessor', 'SubmittedToPaymentProcessor'];
const UNABLE_TO_GO_ONLINE = { type: 'UnableToGoOnline', errorCode: 210 };

async function newest(): Promise<string> {
  return (await storedTransactions(installation.database)).at(-1)!.id;
}

test('a tap is UnableToGoOnline immediately without a worker', async () => {
  const { ms, ...response } = await installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
  expect(outcomeOf({ ms, ...response })).toMatchObject(UNABLE_TO_GO_ONLINE);
  expect(ms).toBeLessThan(DEADLINE_MS);
  await untilResponded(installation.database, await newest());
  expect(installation.asked.authorizations).toBe(0);
  await expectInvariants(installation);
});

describe('with a worker', () => {
  let worker: StartedGateway;
  beforeAll(async () => {
    worker = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
    await untilApproved();
  });
  afterEach(() => expectInvariants(installation));

  test.each([
    ['10.00', 'Approved', '00'],
    ['10.51', 'Declined', '51'],
  ])('%s is %s, and comes to rest without a job', async (amount, type, isoResponseCode) => {
    const { database } = installation;
    const response = outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' }));
    expect(response).toMatchObject({ type, isoResponseCode });
    const { id } = await untilResponded(database, response.serviceReference);
    expect(await trailOf(database, id)).toEqual([
      ...SUBMITTED,
      'ResponseReceivedFromPaymentProcessor',
      'RespondedToPhone',
    ]);
    await eventually(async () => expect(await jobsOf(database, id)).toEqual([]));
  });

  test('the sealed tap is removed from the row when it is submitted', async () => {
    const { rows } = await installation.database.query('select from transactions where handover is not null');
    expect(rows).toEqual([]);
  });

  test('silence of the switch is Indeterminate, reversed by the worker, and Voided', async () => {
    const { database } = installation;
    const response = outcomeOf(await installation.phone().tap({ amount: '10.69', currency: 'ZAR' }));
    expect(response).toMatchObject({ type: 'Indeterminate', errorCode: 203 });
    const id = response.serviceReference;
    await eventually(async () =>
      expect(await storedTransaction(database, id)).toMatchObject({ disposition: Disposition.Voided }),
    );
    await untilResponded(database, id);
    await eventually(async () => expect(await jobsOf(database, id)).toEqual([]));
    expect(await trailOf(database, id)).toEqual(
      expect.arrayContaining([
        ...SUBMITTED,
        'NoResponseFromPaymentProcessor',
        'reversal sent 1',
        'reversal acknowledged 1',
      ]),
    );
  });

  test('a hundred simultaneous taps each get their own response', async () => {
    const amounts = Array.from({ length: 100 }, (_, index) => (index % 5 === 0 ? '10.51' : `${index + 1}.00`));
    const phone = installation.phone('bakery');
    const responses = await Promise.all(
      amounts.map(async (amount) => {
        const tap = await phone.seal({ amount, currency: 'ZAR' });
        let response = await phone.submit(tap);
        // On a busy machine the outcome may not be known in time. The phone then repeats its request.
        while (response.status === 500 && problemOf(response).errorCode === 201) response = await phone.submit(tap);
        return response;
      }),
    );
    for (const [index, response] of responses.entries()) {
      const { type, amount } = outcomeOf(response);
      expect(type).toBe(index % 5 === 0 ? 'Declined' : 'Approved');
      expect(amount).toBe(Math.round(Number(amounts[index]) * 100));
    }
  });

  test('a tap for which the worker gets no slot is UnableToGoOnline', async () => {
    await installation.startOutage(worker.url);
    const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
    expect(response).toMatchObject(UNABLE_TO_GO_ONLINE);
    await installation.simulator.endOutages();
    await untilApproved();
  });

  test('taps that arrive while the last worker stops all receive a response immediately, and those after it are UnableToGoOnline', async () => {
    const phone = installation.phone();
    const tap = async () => {
      const { ms, ...response } = await phone.tap({ amount: '10.00', currency: 'ZAR' });
      expect(ms).toBeLessThan(DEADLINE_MS);
      return outcomeOf({ ms, ...response }).type;
    };
    const types = new Set<string>();
    let isStopping = true;
    const stopped = worker.stop().then(() => {
      isStopping = false;
    });
    while (isStopping) types.add(await tap());
    await stopped;
    // The outcome depends on whether the api process knows yet that the worker is stopping.
    for (const type of types) expect(['Approved', 'UnableToGoOnline']).toContain(type);
    expect(await tap()).toBe('UnableToGoOnline');
  });
});

test('a processor with a longer deadline than the default responds to taps of an api process', async () => {
  const patient = await startInstallation({ role: 'api', profile: { deadlineMs: 60_000 } });
  try {
    await patient.startGateway({ TAPWIRE_ROLE: 'worker' });
    await untilApproved(patient);
    await expectInvariants(patient);
  } finally {
    await patient.stop();
  }
});

/** An api process looks for workers every two seconds. */
async function untilApproved(at = installation): Promise<void> {
  await eventually(async () => {
    const response = outcomeOf(await at.phone().tap({ amount: '10.00', currency: 'ZAR' }));
    expect(response.type).toBe('Approved');
  });
}
