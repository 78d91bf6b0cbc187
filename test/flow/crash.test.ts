import { afterAll, beforeAll, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { OUTCOME_GRACE_SECONDS } from '../../src/payments/model/time-limits.ts';
import { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { GUARD_SECONDS, type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants, expectSoundStates } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';
import {
  jobsOf,
  letDoubtPass,
  letTimePass,
  storedTransactions,
  trailOf,
  untilStatus,
} from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none', settings: { JOB_MONITOR_SECONDS: '1' } });
});
afterAll(() => installation.stop());

test('a gateway killed while the switch processes a tap: after the restart the tap is Indeterminate and reversed, and the phone may repeat its request', async () => {
  const { database } = installation;
  const killed = await GatewayProcess.start(installation, 'all');
  const profile = installation.profile('coffee', killed.url);
  const phone = new Phone(profile);
  const sealed = await phone.seal({ amount: '10.69', currency: 'ZAR' });
  const withoutResponse = phone.submit(sealed).catch((error: Error) => error);
  await eventually(() => expect(installation.asked.authorizations).toBe(1));
  await killed.kill('SIGKILL');
  expect(await withoutResponse).toBeInstanceOf(Error);

  const [orphan] = await storedTransactions(database);
  expect(orphan).toMatchObject({ status: 'SubmittedToPaymentProcessor', disposition: null });
  await expectSoundStates(database);
  const id = orphan!.id;
  const [guard] = await jobsOf(database, id);
  expect(guard?.queue).toBe('overdue');

  const restarted = await installation.startGateway();
  await untilStatus(database, id, 'NoResponseFromPaymentProcessor');
  const decidedAtMs = Date.now();
  expect(decidedAtMs).toBeGreaterThanOrEqual(guard!.startsAtMs);
  await expectInvariants(installation);
  const [orphaned] = await storedTransactions(database);
  expect(orphaned).toMatchObject({ disposition: Disposition.Indeterminate, reversalState: 1 });

  const reversal = await eventually(async () => {
    const job = (await jobsOf(database, id)).find(({ queue }) => queue === 'reverse');
    expect(job?.startsAtMs).toBeGreaterThan(decidedAtMs + 30_000);
    return job!;
  });
  const deadlineAtMs = guard!.startsAtMs - OUTCOME_GRACE_SECONDS * 1_000;
  expect(reversal.startsAtMs).toBeGreaterThan(deadlineAtMs + GUARD_SECONDS * 1_000 - 1_000);

  await letTimePass(database, id, GUARD_SECONDS + 10);
  await letDoubtPass(database, id); // on another connection the switch may have received the reversal first
  await eventually(async () =>
    expect((await storedTransactions(database))[0]).toMatchObject({ disposition: Disposition.Voided }),
  );
  expect(installation.ledger).toMatchObject([{ state: 'reversed', reversals: 2 }]);
  expect(await trailOf(database, id)).toEqual(
    expect.arrayContaining(['NoResponseFromPaymentProcessor', 'reversal confirming 1', 'reversal acknowledged 2']),
  );
  await untilStatus(database, id, 'FailedToRespondToPhone');

  const again = new Phone({ ...profile, url: restarted.url }, phone.deviceInstallationId);
  expect(outcomeOf(await again.submit(sealed))).toMatchObject({ type: 'Indeterminate', serviceReference: id });
  await untilStatus(database, id, 'RespondedToPhone');
  await expectInvariants(installation);
});
