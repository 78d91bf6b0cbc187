import { afterAll, beforeAll, expect, test } from 'vitest';
import { JobTable } from '../../../src/jobs/job-table.ts';
import type { Transaction } from '../../../src/payments/model/transaction.ts';
import { saveAcquirer, saveProcessor, saveRoute } from '../../../src/store/settings/tenants.ts';
import { PostgresRefundStore } from '../../../src/store/transactions/refund-store.ts';
import { PostgresTransactionStore } from '../../../src/store/transactions/transaction-store.ts';
import { type Random, seededRandom } from '../../../src/tools/simulator/faults.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { MemoryRefunds } from '../memory-refunds.ts';
import { MemoryStore } from '../memory-store.ts';
import { VirtualTime } from '../virtual-time.ts';
import { randomIdentity } from './random-responses.ts';
import { RandomWrites, STEP_SECONDS, type Writes } from './random-writes.ts';

/**
 * As many as a few seconds allow, with a seed for which each kind of write is both accepted and refused;
 * `MIRROR_WRITES=20000` tests more, `MIRROR_SEED=4711` others.
 */
const WRITES = Number(process.env.MIRROR_WRITES ?? 600);
const SEED = Number(process.env.MIRROR_SEED ?? 1);
const TIMEOUT_MS = 600_000;
/** Rows that are written to at a time: an old one has seen every kind of write and is left. */
const ROWS = 6;
/** The number of writes per row before it is replaced: enough for a PIN, its failure and a new attempt. */
const WRITES_PER_ROW = 20;
/** Late responses that are looked up after each write. */
const RESPONSES = 4;
/** Older versions of a row that a writer may still have. */
const REMEMBERED = 4;

let testDatabase: TestDatabase;
let jobs: JobTable;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const { database } = testDatabase;
  jobs = await JobTable.open(database, failOnBug);
  await saveAcquirer(database, 1, 'Acquirer 1');
  await saveProcessor(database, { acquirerId: 1, id: 1, type: 'type-1', config: {} });
  await saveRoute(database, { acquirerId: 1, id: 100, processorId: 1, priority: 1 });
});
afterAll(async () => {
  await jobs.close();
  await testDatabase.drop();
});

function postgresWrites(): Writes {
  const store = new PostgresTransactionStore(testDatabase.database, jobs, () => {});
  const refunds = new PostgresRefundStore(testDatabase.database, jobs);
  return {
    insert: (write) => store.insert(write),
    retry: (write) => store.retry(write),
    submit: (write) => store.submit(write),
    recordDecision: (write) => store.recordDecision(write),
    submitPin: (write) => store.submitPin(write),
    expirePin: (write) => store.expirePin(write),
    stepReversal: (write) => store.stepReversal(write),
    recordLate: (write) => store.recordLate(write),
    recordResponse: (write) => store.recordOverdueResponse(write),
    reserve: (write) => refunds.reserve(write),
    startVoid: (write) => refunds.startVoid(write),
    acknowledge: (write) => refunds.acknowledge(write),
  };
}

function memoryWrites(store: MemoryStore): Writes {
  const refunds = new MemoryRefunds(store);
  return {
    insert: async (write) => store.insert(write),
    retry: async (write) => store.retry(write),
    submit: async (write) => store.submit(write),
    recordDecision: async (write) => store.recordDecision(write),
    submitPin: async (write) => store.submitPin(write),
    expirePin: async (write) => store.expirePin(write),
    stepReversal: async (write) => store.stepReversal(write),
    recordLate: async (write) => store.recordLate(write),
    recordResponse: async (write) => store.recordResponse(write),
    reserve: async (write) => refunds.reserve(write),
    startVoid: async (write) => refunds.startVoid(write),
    acknowledge: async (write) => refunds.acknowledge(write),
  };
}

/** The database's clock cannot be set, so all stored times are moved back. */
async function letTimePass(steps: number): Promise<void> {
  const columns = ['respond_by', 'deadline_at', 'pin_expires_at'];
  const earlier = columns.map((column) => `${column} = ${column} - $1 * interval '1 s'`).join(', ');
  await testDatabase.database.query(`update transactions set ${earlier}`, [steps * STEP_SECONDS]);
}

const COMPARED = `select id, attempt, status, disposition, pin_state as "pinState", pin_tries as "pinTries", pin_job as "pinJob",
  reversal_state as "reversalState", reversal_attempt as "reversalAttempt", needs_review as "needsReview",
  refunded_minor::int as "refundedMinor", void_state as "voidState"
  from transactions where id = any($1) order by id`;

const REVERSALS = `select transaction_id as id, attempt, number, stan, counts, response, (extract(epoch from sent_at) * 1000)::float8 as "sentAtMs"
  from reversal_attempts where transaction_id = any($1) order by transaction_id, attempt, sent_at`;

const SUPERSEDED = `select transaction_id as id, attempt, reversal_state as "reversalState", reversal_attempt as "reversalAttempt"
  from superseded_attempts where transaction_id = any($1) order by transaction_id, attempt`;

/** Rows, live jobs and open attempts of some transactions, from the database. */
async function stored(ids: readonly string[]): Promise<unknown> {
  const { rows } = await testDatabase.database.query(COMPARED, [ids]);
  const reversals = await testDatabase.database.query(REVERSALS, [ids]);
  const superseded = await testDatabase.database.query(SUPERSEDED, [ids]);
  const live = await testDatabase.database.query(
    `select id from pgboss.job where data ->> 'id' = any($1) and state < 'completed'
     union all select id from open_attempts where id::text = any($1) order by id`,
    [ids],
  );
  return { rows, reversals: reversals.rows, superseded: superseded.rows, jobs: live.rows.map(({ id }) => id) };
}

/** The same from the simulation's store. */
function mirrored(store: MemoryStore, ids: readonly string[]): unknown {
  const rows = [...store.rows.values()].flatMap(({ transaction: t }) => {
    if (!ids.includes(t.id)) return [];
    const { id, attempt, status, disposition, pinState, pinTries, pinJob, reversalState, reversalAttempt } = t;
    const { needsReview, refundedMinor, voidState } = t;
    const state = { reversalState, reversalAttempt, needsReview, refundedMinor, voidState };
    return [{ id, attempt, status, disposition, pinState, pinTries, pinJob, ...state }];
  });
  const live = [...store.jobs.values()].filter(({ request: { data } }) => 'id' in data && ids.includes(data.id));
  const order = (a: string, b: string) => (a < b ? -1 : 1);
  const byId = <Each extends { readonly id: string }>(all: Each[]) => all.sort((a, b) => order(a.id, b.id));
  const reversals = [...store.rows].flatMap(([id, row]) =>
    ids.includes(id)
      ? row.reversals
          .map(({ attempt, number, stan, counts, response, sentAtMs }) => ({
            ...{ id, attempt, number, stan, counts, response, sentAtMs },
          }))
          .sort((a, b) => a.attempt - b.attempt || a.sentAtMs - b.sentAtMs)
      : [],
  );
  const superseded = [...store.rows].flatMap(([id, row]) =>
    ids.includes(id)
      ? row.superseded.map(({ attempt, reversalState, reversalAttempt }) => ({
          ...{ id, attempt, reversalState, reversalAttempt },
        }))
      : [],
  );
  const jobs = live.map(({ id }) => id).sort(order);
  return { rows: byId(rows), reversals: byId(reversals), superseded: byId(superseded), jobs };
}

/** Looks up late responses with fields of a row's messages, or of others, in both stores. */
async function findMeant(memory: MemoryStore, id: string, random: Random) {
  const store = new PostgresTransactionStore(testDatabase.database, jobs, () => {});
  const responses = Array.from({ length: RESPONSES }, () => randomIdentity(random, memory.rows.get(id)!));
  const asKeys = (found: readonly (Transaction | undefined)[]) =>
    found.map((each) => each && { id: each.id, attempt: each.attempt });
  return {
    responses,
    inMemory: [memory.findReversals(responses), asKeys(memory.findRequestsOfResponses(responses))],
    onPostgres: [await store.findReversals(responses), asKeys(await store.findRequestsOfResponses(responses))],
  };
}

test(
  'the simulation’s store and Postgres give the same results for any sequence of guarded writes, fresh and stale',
  async () => {
    const random = seededRandom(SEED);
    const time = new VirtualTime();
    let ids = 0;
    const newId = () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`;
    const memory = new MemoryStore(time, newId);
    const [inMemory, onPostgres] = [memoryWrites(memory), postgresWrites()];
    const refunds = new MemoryRefunds(memory);
    const writes = new RandomWrites(random, newId, () => time.nowMs, {
      factsOf: (seen) => memory.findOriginalFacts(seen),
      voidOf: (sale) => refunds.findVoid(sale),
    });
    const verdicts = new Map<string, Set<string>>();
    const reported = (name: string, verdict: unknown) =>
      verdicts.set(name, (verdicts.get(name) ?? new Set()).add(String(verdict)));
    let seen: Transaction[] = [];

    for (let n = 0; n < WRITES; n++) {
      if (n % (ROWS * WRITES_PER_ROW) === 0) {
        const newAttempts = Array.from({ length: ROWS }, (_, index) => writes.newAttempt(`order-${n}-${index}`));
        for (const newAttempt of newAttempts)
          expect(memory.insert(newAttempt)).toBe(await onPostgres.insert(newAttempt));
        reported('insert', 'inserted');
        seen = newAttempts.map(({ transaction }) => memory.find(transaction)!);
      }
      if (random.next() < 0.15) {
        const steps = 1 + Math.floor(random.next() * 3);
        time.nowMs += steps * STEP_SECONDS * 1_000;
        await letTimePass(steps);
      }
      // Most are decided from the current row, the others from an older version.
      const believed = seen[Math.floor(random.next() * seen.length)]!;
      const looked = random.next() < 0.6 ? memory.find(believed)! : believed;
      // An attempt that was superseded by one with a PIN has a reversal of its own.
      const earlier = random.next() < 0.3 ? memory.rows.get(believed.id)!.superseded.at(-1) : undefined;
      const { name, on } = earlier ? writes.ofSuperseded(earlier) : writes.next(looked);
      const [expected, actual] = [await on(onPostgres), await on(inMemory)];
      const where = `write ${n}, ${name}: replay it with MIRROR_SEED=${SEED}`;
      if (name !== 'recordResponse') expect(actual, where).toBe(expected);
      const touched = [...memory.rows.values()]
        .map(({ transaction }) => transaction)
        .filter(({ id, originalId }) => [id, originalId].includes(looked.id) || id === looked.originalId);
      const touchedIds = touched.map(({ id }) => id);
      expect(mirrored(memory, touchedIds), where).toEqual(await stored(touchedIds));
      const { responses, inMemory: meant, onPostgres: found } = await findMeant(memory, looked.id, random);
      expect(meant, `${where}: ${JSON.stringify(responses)}`).toEqual(found);
      seen.push(...touched);
      seen = seen.slice(-ROWS * REMEMBERED);
      reported(name, expected);
    }
    for (const [name, said] of verdicts) {
      if (name !== 'recordResponse') expect([...said], `${name} said but one thing`).not.toHaveLength(1);
    }
    expect(verdicts.size).toBe(Object.keys(inMemory).length);
  },
  TIMEOUT_MS,
);
