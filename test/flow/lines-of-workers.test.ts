import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Installation, type StartedGateway, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';

/** Many taps at once take time on a busy machine. */
const DEADLINE_MS = 8_000;
const TAPS = 40;
/** One for each of the two acquirers of the installation. */
const SESSIONS = 2;

let installation: Installation;
let connected: StartedGateway;
let unconnected: StartedGateway;
beforeAll(async () => {
  installation = await startInstallation({ role: 'api', maxSessions: SESSIONS, profile: { deadlineMs: DEADLINE_MS } });
  connected = await installation.startGateway({ TAPWIRE_ROLE: 'worker' });
  unconnected = await installation.startGateway({ TAPWIRE_ROLE: 'worker' }, { isSwitchDown: true });
  await untilApproved();
});
afterAll(() => installation.stop());

test('the worker without a session leaves all taps to the other if the switch accepts only one', async () => {
  const phone = installation.phone('bakery');
  const types = new Map<string, number>();
  for (let round = 0; round < 3; round++) {
    const amounts = Array.from({ length: TAPS }, (_, index) => `${index + 1}.00`);
    for (const response of await Promise.all(amounts.map((amount) => phone.tap({ amount, currency: 'ZAR' })))) {
      const { type } = outcomeOf(response);
      types.set(type, (types.get(type) ?? 0) + 1);
    }
  }
  expect(Object.fromEntries(types)).toEqual({ Approved: 3 * TAPS });
  expect((await installation.switchStats(unconnected.url)).responded).toBe(0);
  await expectInvariants(installation);
});

test('the other worker opens the session and takes the taps when the one that has it stops', async () => {
  await connected.stop();
  await untilApproved();
  await expectInvariants(installation);
});

/** An api process looks for workers every two seconds. */
async function untilApproved(): Promise<void> {
  await eventually(async () => {
    const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
    expect(response.type).toBe('Approved');
  });
}
