import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { QueueName } from '../../schemas/jobs.ts';
import { DueJobs } from '../../src/jobs/due-jobs.ts';
import { JobTable } from '../../src/jobs/job-table.ts';
import { PACES } from '../../src/jobs/paces.ts';
import { Pump } from '../../src/jobs/pump.ts';
import type { StorableJob } from '../../src/payments/model/decision.ts';
import { inTransaction } from '../../src/store/postgres/group-commit.ts';
import { eventually } from '../support/eventually.ts';
import { failOnBug } from '../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

let testDatabase: TestDatabase;
let jobs: JobTable;
let due: DueJobs;
let open = () => {};
const pumps: Pump<QueueName>[] = [];
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  jobs = await JobTable.open(testDatabase.database, failOnBug);
});
beforeEach(() => {
  due = new DueJobs(jobs, failOnBug);
});
afterEach(async () => {
  open();
  await Promise.all(pumps.splice(0).map((pump) => pump.stop()));
  await due.stop();
  await eventually(() => jobs.boss.deleteAllJobs());
});
afterAll(async () => {
  await jobs.close();
  await testDatabase.drop();
});

/** Queues whose jobs wait for a switch. */
const SHARED = (Object.keys(PACES) as QueueName[]).filter((queue) => PACES[queue].isShared);

/** What a job needs beyond its transaction. */
const MORE: Partial<Record<QueueName, object>> = {
  reverse: { reversalAttempt: 1 },
  complete: { completionAttempt: 1 },
};

/** A pump as a process has it, to which the switch of acquirer 1 never responds. */
function startPump(queue: QueueName) {
  const handled = new Map<number, number>();
  const responded = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { ration: _ration, ...pace } = PACES[queue];
  const handle = async (asked: object) => {
    const { acquirerId } = asked as { acquirerId: number };
    handled.set(acquirerId, (handled.get(acquirerId) ?? 0) + 1);
    if (acquirerId === 1) await responded;
    return 'done' as const;
  };
  const pump = new Pump<QueueName>(jobs, due, { queue, ...pace, handle, onError: failOnBug });
  pumps.push(pump);
  return { pump, handled };
}

async function enqueue(queue: QueueName, acquirerId: number, count: number, group?: string): Promise<void> {
  const requests = Array.from({ length: count }, () => {
    const data = { acquirerId, id: randomUUID(), attempt: 1, ...MORE[queue] };
    return { queue, data, ...(group && { group }) } as StorableJob;
  });
  await inTransaction(testDatabase.database, (client) => jobs.enqueue(client, requests));
}

test('queues whose jobs wait for a switch are shared', () => {
  expect(SHARED.sort()).toEqual(['authorize', 'complete', 'refund', 'reverse']);
});

test.each(SHARED)('jobs of %s for a switch that does not respond leave room for another acquirer', async (queue) => {
  const { credits } = PACES[queue];
  await enqueue(queue, 1, 2 * credits, queue === 'authorize' ? '1 1' : undefined);
  const { pump, handled } = startPump(queue);
  await eventually(() => expect(handled.get(1)).toBe(credits / 2));
  await enqueue(queue, 2, credits);
  pump.wake();
  await eventually(() => expect(handled.get(2)).toBe(credits));
  expect(handled.get(1)).toBe(credits / 2);
  open();
  await eventually(() => expect(handled.get(1)).toBe(2 * credits));
});

test('work ahead of its jobs leaves room as well', async () => {
  const { pump } = startPump('reverse');
  const { credits } = PACES.reverse;
  const never = Promise.withResolvers<void>();
  open = never.resolve;
  const begun = new Map<number, number>();
  const work = (acquirerId: number, until: Promise<void>) => async () => {
    begun.set(acquirerId, (begun.get(acquirerId) ?? 0) + 1);
    await until;
  };
  for (let n = 0; n < 2 * credits; n++) pump.runAhead(1, work(1, never.promise));
  for (let n = 0; n < credits; n++) pump.runAhead(2, work(2, Promise.resolve()));
  await eventually(() => expect(begun.get(2)).toBe(credits));
  expect(begun.get(1)).toBe(credits / 2);
  never.resolve();
  await eventually(() => expect(begun.get(1)).toBe(2 * credits));
});
