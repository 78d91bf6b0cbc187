import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { startBehindRelay } from '../support/behind-relay.ts';
import { eventually } from '../support/eventually.ts';
import { GUARD_SECONDS, type Installation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import type { Relay } from '../support/relay.ts';
import { outcomeOf } from '../support/responses.ts';
import {
  jobsOf,
  letDoubtPass,
  letTimePass,
  storedTransaction,
  trailOf,
  untilResponded,
} from '../support/transactions.ts';

/** Nothing here waits for it. */
const LONG_DEADLINE_MS = 60_000;

let installation: Installation;
let relay: Relay;
beforeAll(async () => {
  ({ installation, relay } = await startBehindRelay({ profile: { deadlineMs: LONG_DEADLINE_MS } }));
});
afterEach(() => expectInvariants(installation));
afterAll(async () => {
  await installation.stop();
  await relay.close();
});

const UNABLE_TO_GO_ONLINE = { type: 'UnableToGoOnline', errorCode: 210, isoResponseCode: '', authorizationCode: '' };

test('a tap is UnableToGoOnline immediately while the switch refuses connections, and requires no reversal', async () => {
  const { database } = installation;
  const phone = installation.phone();
  await installation.startOutage();
  const before = installation.asked;
  const { ms, ...response } = await phone.tap({ amount: '10.00', currency: 'ZAR' });
  expect(outcomeOf({ ms, ...response })).toMatchObject(UNABLE_TO_GO_ONLINE);
  expect(ms).toBeLessThan(LONG_DEADLINE_MS);
  const { id } = await untilResponded(database, outcomeOf({ ms, ...response }).serviceReference);
  expect(await trailOf(database, id)).toEqual([
    'RequestReceived',
    'ReadyToSubmitToPaymentProcessor',
    'RespondedToPhone',
  ]);
  expect(await storedTransaction(database, id)).toMatchObject({ stan: null, reversalState: 0 });
  expect(await jobsOf(database, id)).toEqual([]);
  expect(installation.asked).toEqual(before);
});

test('taps are approved again once the switch is back', async () => {
  await installation.simulator.endOutages();
  await eventually(async () => {
    const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
    expect(response.type).toBe('Approved');
  });
});

test('a connection lost within a response is Indeterminate immediately; the reversal waits on another connection until the original cannot arrive any longer', async () => {
  const { database } = installation;
  const { ms, ...response } = await installation.phone().tap({ amount: '10.98', currency: 'ZAR' });
  expect(ms).toBeLessThan(LONG_DEADLINE_MS);
  const { type, serviceReference } = outcomeOf({ ms, ...response });
  expect(type).toBe('Indeterminate');
  const { id } = await untilResponded(database, serviceReference);
  expect(await trailOf(database, id)).toContain('NoResponseFromPaymentProcessor');

  const waiting = await eventually(async () => {
    const [job, ...others] = await jobsOf(database, id);
    expect(others).toEqual([]);
    expect(job?.startsAtMs).toBeGreaterThan(Date.now() + 30_000);
    return job!;
  });
  const { rows } = await database.query<{ deadlineMs: number }>(
    `select (extract(epoch from deadline_at) * 1000)::float8 as "deadlineMs" from transactions where id = $1`,
    [id],
  );
  const notBeforeMs = rows[0]!.deadlineMs + GUARD_SECONDS * 1_000;
  expect(waiting).toMatchObject({ queue: 'reverse', data: { attempt: 1, reversalAttempt: 1 } });
  expect(waiting.startsAtMs).toBeGreaterThan(notBeforeMs - 1_000);
  expect(waiting.startsAtMs).toBeLessThan(notBeforeMs + 30_000);
  expect(installation.ledger.filter(({ state }) => state === 'reversed')).toEqual([]);

  await letTimePass(database, id, LONG_DEADLINE_MS / 1_000 + GUARD_SECONDS + 5);
  await letDoubtPass(database, id); // on another connection the switch may have received the reversal first
  await eventually(async () =>
    expect(await storedTransaction(database, id)).toMatchObject({ disposition: Disposition.Voided }),
  );
  expect([relay.count('0420'), relay.count('0421')]).toEqual([1, 1]);
  await eventually(async () => expect(await jobsOf(database, id)).toEqual([]));
});

test('a connection closed while the switch processes the tap is Indeterminate, too', async () => {
  relay.onRequest = () => relay.cut();
  const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  relay.onRequest = () => {};
  expect(response).toMatchObject({ type: 'Indeterminate', errorCode: 203 });
  await untilResponded(installation.database, response.serviceReference);
});
