import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Status } from '../../src/payments/model/status.ts';
import { startBehindRelay } from '../support/behind-relay.ts';
import { eventually } from '../support/eventually.ts';
import type { Installation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import type { Relay } from '../support/relay.ts';
import { outcomeOf } from '../support/responses.ts';

/**
 * In every role, bytes for a switch may be sent only after `SubmittedToPaymentProcessor` and its guard are committed.
 */
describe.each([
  ['all', ['all']],
  ['api and worker', ['worker', 'api']],
])('role %s', (_name, roles) => {
  let installation: Installation;
  let relay: Relay;
  beforeAll(async () => {
    ({ installation, relay } = await startBehindRelay({ role: 'none', profile: { deadlineMs: 10_000 } }));
    for (const role of roles) await installation.startGateway({ TAPWIRE_ROLE: role });
  });
  afterAll(async () => {
    await installation.stop();
    await relay.close();
  });

  test('another database connection sees the submission and its open attempt when the bytes arrive', async () => {
    const seen: string[] = [];
    relay.onRequest = async ({ stan, tid }) => {
      const { rows } = await installation.database.query(
        `select t.status, t.sent_at is not null and t.sealed_card is not null as "hasFacts",
           o.due_at > t.deadline_at as "isGuarded"
         from transactions t join open_attempts o on o.acquirer_id = t.acquirer_id and o.id = t.id and o.attempt = t.attempt
         where t.stan = $1 and t.tid = $2`,
        [stan, tid],
      );
      const [row] = rows;
      const isSound = row?.status === Status.SubmittedToPaymentProcessor && row.hasFacts && row.isGuarded;
      seen.push(isSound ? 'submitted' : `${stan} ${tid}: ${JSON.stringify(row)}`);
    };
    const merchants = ['coffee', 'bakery', 'flowers', 'tailor'] as const;
    const phones = merchants.map((merchant) => installation.phone(merchant));
    const taps = Array.from({ length: 40 }, (_, index) => phones[index % 4]!.tap({ amount: '10.00', currency: 'ZAR' }));
    for (const response of await Promise.all(taps)) expect(outcomeOf(response).type).toBe('Approved');
    relay.onRequest = () => {};
    expect(seen).toEqual(Array.from({ length: 40 }, () => 'submitted'));
    await expectInvariants(installation);
  });

  test('no bytes arrive while the commit hangs', async () => {
    const before = relay.requests.length;
    const client = await installation.database.connect();
    try {
      await client.query('begin');
      await client.query('lock table transaction_events in exclusive mode');
      const response = installation.phone().tap({ amount: '10.00', currency: 'ZAR' });
      await eventually(() => untilSomebodyWaits(installation));
      expect(relay.requests.length).toBe(before);
      await client.query('commit');
      expect(outcomeOf(await response).type).toBe('Approved');
    } finally {
      client.release();
    }
    expect(relay.requests.length).toBe(before + 1);
    await expectInvariants(installation);
  });
});

/** A statement of a gateway has everything but the lock that it waits for. */
async function untilSomebodyWaits({ database }: Installation): Promise<void> {
  const { rowCount } = await database.query('select from pg_locks where not granted');
  expect(rowCount).toBeGreaterThan(0);
}
