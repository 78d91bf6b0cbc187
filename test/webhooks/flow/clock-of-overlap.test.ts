import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GuardedRequest } from '../../../src/outbound/guarded-fetch.ts';
import { PostgresWebhookDeliveries } from '../../../src/store/webhooks/webhook-deliveries.ts';
import { PostgresWebhookEndpoints } from '../../../src/store/webhooks/webhook-endpoints.ts';
import { Lanes } from '../../../src/webhooks/lanes.ts';
import { WebhookDeliverer } from '../../../src/webhooks/webhook-deliverer.ts';
import { createSecretVault, createWebhookSecret, signWebhook } from '../../../src/webhooks/webhook-signature.ts';
import { rememberJobs } from '../../store/transactions/remember-jobs.ts';
import { freshKeyRing } from '../../support/card-data.ts';
import { saveTenants } from '../../support/tenants.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const OWNER = { acquirerId: 1, integratorId: 10, serves: 'taps' } as const;
const YEAR_MS = 365 * 86_400_000;

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  await saveTenants(testDatabase.database, { type: 'type-1', config: {} });
});
afterAll(() => testDatabase.drop());

test.each([
  ['a year ahead', YEAR_MS],
  ['a year behind', -YEAR_MS],
])('the database decides when a previous secret ends, at a host whose clock is %s', async (_, errorMs) => {
  const { database } = testDatabase;
  const vault = createSecretVault(await freshKeyRing());
  const [previous, current] = [createWebhookSecret(), createWebhookSecret()];
  const endpoints = new PostgresWebhookEndpoints(database);
  const url = 'https://receiver.example/';
  await endpoints.register({ ...OWNER, id: randomUUID(), url, sealedSecret: Buffer.alloc(1) });
  const { id } = (await endpoints.find(OWNER, OWNER.serves))!;
  const key = { acquirerId: OWNER.acquirerId, id };
  await endpoints.replaceSecret(key, vault.seal(id, previous), { overlapSeconds: 0, isCompromised: true });
  await endpoints.replaceSecret(key, vault.seal(id, current), { overlapSeconds: 3_600, isCompromised: false });

  const nowMs = () => Date.now() + errorMs;
  const posted: GuardedRequest[] = [];
  const deliverer = new WebhookDeliverer({
    store: new PostgresWebhookDeliveries(database, rememberJobs().jobs, () => '{}'),
    fetcher: {
      request: async (request) => {
        posted.push(request);
        return { status: 204, headers: {}, body: Buffer.alloc(0), isCut: false };
      },
    },
    vault,
    lanes: new Lanes(() => performance.now()),
    recoveries: { after: () => {} } as never,
    clock: { nowMs, monotonicMs: () => performance.now() } as never,
    random: () => 0.5,
  });
  /** Delivers an event. @returns which secrets have signed it */
  const signers = async () => {
    const eventId = randomUUID();
    await database.query(
      `insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, next_at)
       values ($1, $2, $3, $4, $5, 'transaction.completed', '{}', clock_timestamp())`,
      [OWNER.acquirerId, eventId, OWNER.integratorId, id, randomUUID()],
    );
    const job = { acquirerId: OWNER.acquirerId, eventId, endpointId: id, round: 1, delivery: 1 };
    expect(await deliverer.deliver(job, randomUUID(), { release: () => true })).toBe('removed');
    const headers = posted.at(-1)!.headers as Record<string, string>;
    const atMs = Number(headers['webhook-timestamp']) * 1_000;
    const signatures = headers['webhook-signature']!.split(' ');
    const by = (secret: typeof current) =>
      signatures.includes(signWebhook([secret], { id: eventId, body: '{}', atMs })['webhook-signature']);
    return { signatures, by };
  };

  const during = await signers();
  expect([during.by(current), during.by(previous), during.signatures.length]).toEqual([true, true, 2]);
  await database.query(`update webhook_endpoints set previous_until = clock_timestamp() where id = $1`, [id]);
  const after = await signers();
  expect([after.by(current), after.by(previous), after.signatures.length]).toEqual([true, false, 1]);
});
