import { afterAll, beforeAll, expect, test } from 'vitest';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { outcomeOf } from '../../support/responses.ts';
import { letDoubtPass } from '../../support/transactions.ts';
import { startDoomed } from './doomed-gateway.ts';

/** Longer than it takes to send all of them to the switch. */
const DEADLINE_MS = 4_000;
const TAPS = 10;
/** The value in the processor's profile, which this installation does not change. */
const OVERTAKING_GUARD_SECONDS = 5;
/** The promised time to the wire, from the deadline, or from when a worker was available. */
const PROMISED_SECONDS = 10;

let installation: Installation;
beforeAll(async () => {
  const profile = { deadlineMs: DEADLINE_MS, overtakingGuardSeconds: OVERTAKING_GUARD_SECONDS };
  installation = await startInstallation({ role: 'api', profile });
});
afterAll(() => installation.stop());

test('taps of a worker killed while it processes them are reversed on the wire by another within ten seconds of their deadline', async () => {
  const { database } = installation;
  const killed = (await startDoomed(installation, undefined, 'worker')).process;
  await eventually(async () => {
    const response = await installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
    expect(outcomeOf(response).type).toBe('Approved');
  });
  const before = installation.asked.authorizations;
  const responses = Array.from({ length: TAPS }, () => installation.phone().tap({ amount: '10.69', currency: 'ZAR' }));
  await eventually(() => expect(installation.asked.authorizations).toBe(before + TAPS));
  await killed.kill('SIGKILL');
  await expectSoundStates(database);

  const { process: other } = await startDoomed(installation, undefined, 'worker');
  const upAtMs = Date.now();
  for (const response of await Promise.all(responses)) expect(outcomeOf(response).type).toBe('Indeterminate');
  await eventually(() => expect(installation.ledger.filter(({ state }) => state === 'reversed')).toHaveLength(TAPS));
  const { rows: orphans } = await database.query<{ id: string; rrn: string; deadlineMs: number }>(
    `select id, rrn, (extract(epoch from deadline_at) * 1000)::float8 as "deadlineMs" from transactions where disposition = $1`,
    [Disposition.Indeterminate],
  );
  expect(orphans).toHaveLength(TAPS);
  const seconds = orphans.map(({ rrn, deadlineMs }) => {
    const { reversedAtMs } = installation.ledger.find((entry) => entry.rrn === rrn)!;
    expect(reversedAtMs! - deadlineMs).toBeGreaterThan(OVERTAKING_GUARD_SECONDS * 1_000);
    return (reversedAtMs! - Math.max(deadlineMs, upAtMs)) / 1_000;
  });
  console.log(
    `on the wire ${Math.min(...seconds).toFixed(1)} to ${Math.max(...seconds).toFixed(1)} s after the deadline, or after the next worker was up`,
  );
  expect(Math.max(...seconds)).toBeLessThan(PROMISED_SECONDS);

  // On another connection the switch may have received the reversal first, so it is requested once more.
  await Promise.all(orphans.map(({ id }) => letDoubtPass(database, id)));
  await eventually(async () => {
    const { rowCount } = await database.query('select from transactions where disposition = $1', [Disposition.Voided]);
    expect(rowCount).toBe(TAPS);
  });
  await expectSoundStates(database);
  await other.kill('SIGTERM');
});
