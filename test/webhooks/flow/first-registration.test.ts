import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { UnaddressedEvent } from '../../../src/payments/model/decision.ts';
import { inTransaction } from '../../../src/store/postgres/group-commit.ts';
import { changeJobs, OfferedJobs } from '../../../src/store/transactions/jobs-in-commit.ts';
import { PostgresWebhookEndpoints, RecordedWebhookEndpoints } from '../../../src/store/webhooks/webhook-endpoints.ts';
import type { Registration } from '../../../src/webhooks/ports.ts';
import { rememberJobs } from '../../store/transactions/remember-jobs.ts';
import { eventually } from '../../support/eventually.ts';
import { outcomeOf } from '../../support/responses.ts';
import { scriptedInstallation } from '../../support/scripted-installation.ts';
import { saveTenants } from '../../support/tenants.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { Backend, untilReported } from '../backend.ts';
import { startReceiver } from '../receiver.ts';

describe('an integrator that registers its first URL at one gateway', () => {
  const scene = scriptedInstallation();

  test('gets the event of an outcome that another gateway decides at once, without having read the registration', async () => {
    await scene.installOwn({ role: 'none', profile: { deadlineMs: 100_000 } });
    const { installation, scripted } = scene;
    const receiver = await startReceiver();
    try {
      await installation.startGateway();
      const other = await installation.startGateway({}, { settingsEveryMs: 3_600_000 });
      const backend = await Backend.open(installation);
      scripted.hold('0200');
      const tap = installation.phoneAt(other.url).tap({ amount: '10.00', currency: 'ZAR' });
      const sale = await eventually(() => scripted.take('0200'));
      const secret = backend.listenAt(receiver.url);
      await secret.finally(() => sale.respond());
      const { serviceReference } = outcomeOf(await tap);
      expect(await untilReported(receiver, await secret, serviceReference)).toMatchObject([
        { type: 'transaction.completed', disposition: 'Approved', sequence: 1 },
      ]);
      expect(await backend.eventsOf(serviceReference)).toHaveLength(1);
    } finally {
      await receiver.close();
    }
  });
});

describe('a first registration', () => {
  let testDatabase: TestDatabase;
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    await saveTenants(testDatabase.database, { type: 'type-1', config: {} });
  });
  afterAll(() => testDatabase.drop());

  type Owner = Pick<Registration, 'acquirerId' | 'integratorId' | 'serves'>;

  const registrationOf = (owner: Owner): Registration => {
    return { ...owner, id: randomUUID(), url: 'https://receiver.example/', sealedSecret: Buffer.alloc(1) };
  };

  function eventOf({ acquirerId, integratorId, serves }: Owner): UnaddressedEvent {
    const data = { acquirerId, eventId: randomUUID(), round: 1, delivery: 1 };
    return { queue: 'webhook', data, endpointOf: { integratorId, serves } };
  }

  /** Commits an outcome with its event. @returns the endpoints to which jobs were added */
  async function commit(owner: Owner, beforeCommit?: (client: pg.PoolClient) => Promise<unknown>): Promise<unknown[]> {
    const { jobs, enqueued } = rememberJobs();
    await inTransaction(testDatabase.database, async (client) => {
      await changeJobs(client, jobs, [{ enqueue: [eventOf(owner)] }]);
      await beforeCommit?.(client);
    });
    return enqueued.map(({ data }) => (data as { endpointId: string }).endpointId);
  }

  /** Resolves when a statement waits for an advisory lock. */
  const untilOneWaits = () =>
    eventually(async () => {
      const waiting = `select from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`;
      expect((await testDatabase.database.query(waiting)).rowCount).toBe(1);
    });

  const stores = {
    'by the integrator': () => new PostgresWebhookEndpoints(testDatabase.database),
    'by tapwire callback set': () => new RecordedWebhookEndpoints(testDatabase.database, 'cli test'),
  } as const;

  test.each([
    ['by the integrator', { acquirerId: 1, integratorId: 10, serves: 'taps' }],
    ['by tapwire callback set', { acquirerId: 1, integratorId: 10, serves: 'links' }],
  ] as const)('%s receives a response after each commit that found no endpoint, and is seen by each later one', async (by, owner) => {
    const registration = registrationOf(owner);
    const order: string[] = [];
    const registered = async () => {
      await stores[by]().register(registration);
      order.push('registered');
    };
    let registering: Promise<void> | undefined;
    const earlier = await commit(owner, async () => {
      registering = registered();
      await untilOneWaits();
      expect(order).toEqual([]);
      order.push('committed');
    });
    const later = registering!.then(() => commit(owner));
    expect([earlier, await later, order]).toEqual([[], [registration.id], ['committed', 'registered']]);
  });

  test('does not wait for commits of a process that has died, whose outcome is then decided again', async () => {
    const owner = { acquirerId: 1, integratorId: 11, serves: 'taps' } as const;
    const registration = registrationOf(owner);
    let registering: Promise<void> | undefined;
    const lost = commit(owner, async (client) => {
      registering = stores['by the integrator']().register(registration);
      await untilOneWaits();
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      await testDatabase.database.query(
        'select pg_terminate_backend($1)',
        rows.map(({ pid }) => pid),
      );
    });
    await expect(lost).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await registering;
    expect(await commit(owner)).toEqual([registration.id]);
  });

  test('delays no commit of another acquirer, and a further registration delays none at all', async () => {
    const [owner, another] = [
      { acquirerId: 1, integratorId: 11, serves: 'links' },
      { acquirerId: 2, integratorId: 20, serves: 'taps' },
    ] as const;
    const registration = registrationOf(owner);
    let registering: Promise<void> | undefined;
    await commit(owner, async () => {
      registering = stores['by the integrator']().register(registration);
      await untilOneWaits();
      expect(await commit(another)).toEqual([]);
    });
    await registering;
    await commit(owner, () =>
      stores['by the integrator']().register({ ...registration, url: 'https://other.example/' }),
    );
  });

  test('is found by the writes of a batch one by one', async () => {
    const [owner, another] = [
      { acquirerId: 2, integratorId: 20, serves: 'links' },
      { acquirerId: 2, integratorId: 20, serves: 'taps' },
    ] as const;
    const { id: endpointId, ...rest } = registrationOf(owner);
    await stores['by the integrator']().register({ id: endpointId, ...rest });
    const { jobs, enqueued, removed } = rememberJobs();
    const known = { queue: 'purge', data: {} } as const;
    await inTransaction(testDatabase.database, async (client) => {
      const offered = new OfferedJobs(client, jobs, [[known, eventOf(owner)], [eventOf(another)], [eventOf(owner)]]);
      await offered.keep([true, true, false]);
    });
    expect(enqueued.map(({ queue, data }) => [queue, 'endpointId' in data && data.endpointId])).toEqual([
      ['purge', false],
      ['webhook', endpointId],
      ['webhook', endpointId],
    ]);
    expect(removed).toEqual([['webhook', enqueued[2]!.id]]);
  });
});
