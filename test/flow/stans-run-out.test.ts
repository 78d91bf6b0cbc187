import { afterEach, beforeEach, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { backlogFindings } from '../../src/tools/doctor/database-findings.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { faultsIn } from '../support/log-lines.ts';
import { outcomeOf } from '../support/responses.ts';
import { letTimePass, storedTransaction } from '../support/transactions.ts';

const HOURS = 3_600;

/** Type 2: the acquirer's terminals share their STANs, and each attempt of a reversal takes one. */
let installation: Installation;
beforeEach(async () => {
  installation = await startInstallation({ type: 'type-2' });
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  await installation.stop();
});

/** Of the business day; the switch does not cut over meanwhile. */
async function leaveStans(left: number): Promise<void> {
  await installation.database.query(
    `insert into stan_blocks (scope, next_value, business_date, day_first) values ('1', $1, current_date + 5, 0)
     on conflict (scope) do update set next_value = excluded.next_value, business_date = excluded.business_date, day_first = 0`,
    [999_999 - left],
  );
}

/** A tap to which no switch responds, and what happens once the switch has it. */
async function tapInVain(meanwhile: () => Promise<void>): Promise<string> {
  const before = installation.asked.authorizations;
  const response = installation.phone().tap({ amount: '10.69', currency: 'ZAR' });
  await eventually(() => expect(installation.asked.authorizations).toBe(before + 1));
  await meanwhile();
  const { type, serviceReference } = outcomeOf(await response);
  expect(type).toBe('Indeterminate');
  return serviceReference;
}

test('a tap without a STAN is UnableToGoOnline, and operators can see why', async () => {
  await leaveStans(15_000);
  const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  expect(response).toMatchObject({ type: 'UnableToGoOnline', errorCode: 210 });
  expect(faultsIn(installation.logLines)).toMatchObject([
    { acquirerId: 1, left: 0, msg: expect.stringContaining('no STAN is left') },
  ]);
  expect(installation.logLines).toContainEqual(
    expect.objectContaining({ processorId: 1, msg: 'no STAN left before the cut-over, nothing sent' }),
  );
  expect(await installation.switchStats()).toMatchObject({ stanless: 1 });
  const metrics = await (await fetch(new URL('/metrics', installation.url))).text();
  expect(metrics).toMatch(/tapwire_switch_stanless_total\{[^}]*processor="1"[^}]*\} 1/);
  expect(metrics).toMatch(/tapwire_stans_left\{acquirer="1",terminal=""\} 15000/);
  expect(await backlogFindings(installation.database)).toContainEqual(
    expect.objectContaining({ part: 'stans', verdict: 'fault', description: expect.stringContaining('15000 STANs') }),
  );
});

test('a reversal still gets a STAN from the reserve when taps get none', async () => {
  const id = await tapInVain(() => leaveStans(15_000));
  await eventually(async () => {
    expect(await storedTransaction(installation.database, id)).toMatchObject({ disposition: Disposition.Voided });
  });
});

test('a reversal without any STAN needs review when its time is over', async () => {
  const id = await tapInVain(() => leaveStans(0));
  await letTimePass(installation.database, id, 73 * HOURS);
  await eventually(async () => {
    expect(await storedTransaction(installation.database, id)).toMatchObject({
      disposition: Disposition.Indeterminate,
      reversalState: ReversalState.needsReview,
      needsReview: true,
    });
  });
  expect(faultsIn(installation.logLines)).toContainEqual(
    expect.objectContaining({ id, msg: expect.stringContaining('needs review') }),
  );
  expect(installation.asked.reversals).toBe(0);
});
