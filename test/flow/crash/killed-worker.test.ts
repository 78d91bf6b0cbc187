import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { outcomeOf } from '../../support/responses.ts';
import { jobsOf, storedTransactions, untilResponded, untilStatus } from '../../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api', profile: { deadlineMs: 4_000 } });
});
afterAll(() => installation.stop());

describe('a killed worker', () => {
  test('a worker was killed before it took the tap: a worker that joined later cannot open it, and the phone learns that nothing was sent', async () => {
    const { database } = installation;
    const killed = await GatewayProcess.start(installation, 'worker');
    await untilApproved();
    await killed.kill('SIGKILL');
    const { authorizations } = installation.asked;
    const response = installation.phone().tap({ amount: '11.00', currency: 'ZAR' });
    const id = await eventually(async () => {
      const [waiting] = (await storedTransactions(database)).filter(({ disposition }) => disposition === null);
      expect(waiting?.status).toBe('ReadyToSubmitToPaymentProcessor');
      return waiting!.id;
    });
    await expectSoundStates(database);
    expect((await jobsOf(database, id)).map(({ queue }) => queue)).toEqual(['authorize', 'overdue']);
    const other = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
    // Long before the attempt is overdue, for which this test does not wait.
    expect(outcomeOf(await response)).toMatchObject({ type: 'UnableToGoOnline', errorCode: 210, serviceReference: id });
    await untilResponded(database, id);
    expect(installation.asked.authorizations).toBe(authorizations);
    await other.stop();
  });

  test('a worker was killed after the submission: another worker decides after the deadline, and the phone gets the outcome', async () => {
    const { database } = installation;
    const killed = await GatewayProcess.start(installation, 'worker');
    await untilApproved();
    const response = installation.phone().tap({ amount: '11.69', currency: 'ZAR' });
    const id = await eventually(async () => {
      const [waiting] = (await storedTransactions(database)).filter(({ disposition }) => disposition === null);
      expect(waiting?.status).toBe('SubmittedToPaymentProcessor');
      return waiting!.id;
    });
    await killed.kill('SIGKILL');
    const other = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
    expect(outcomeOf(await response)).toMatchObject({ type: 'Indeterminate', serviceReference: id });
    await untilStatus(database, id, 'RespondedToPhone');
    await other.stop();
  });
});

/** An api process looks for workers every two seconds. */
async function untilApproved(): Promise<void> {
  await eventually(async () => {
    const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
    expect(response.type).toBe('Approved');
  });
}
