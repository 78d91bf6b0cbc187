import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { JobRequest } from '../../src/payments/model/decision.ts';
import { Lanes } from '../../src/webhooks/lanes.ts';
import type { FirstDelivery, JobOutcome, PromptStore, StoredEvent } from '../../src/webhooks/ports.ts';
import { PromptDeliveries } from '../../src/webhooks/prompt-deliveries.ts';
import { sampleTransaction } from '../transactions/sample-transaction.ts';

const TAKEN = { state: 'delivered', next: null, disablesEndpoint: false, attempt: null } as const;
type Ended = Omit<JobOutcome, 'event' | 'jobId'> | undefined;

/** An attempt in progress. */
interface Attempt {
  readonly endpointId: string;
  readonly becomeSlow: () => void;
  readonly end: (ended?: Ended) => void;
}

let attempts: Attempt[];
let log: string[];
let errors: unknown[];
let disabled: Set<string>;
let takenByOthers: Set<string>;
let store: PromptStore;
let deliveries: PromptDeliveries;
beforeEach(() => {
  vi.useFakeTimers();
  [attempts, log, errors, disabled, takenByOthers] = [[], [], [], new Set(), new Set()];
  const record = (what: string) => async (first: FirstDelivery) => void log.push(`${what} ${first.job.eventId}`);
  store = {
    prepare: async ({ job }) => {
      const endpoint = { id: job.endpointId, isDisabled: disabled.has(job.endpointId) };
      return { id: job.eventId, endpoint } as StoredEvent;
    },
    claim: async (first) => {
      await record('claimed')(first);
      return !takenByOthers.has(first.job.eventId);
    },
    record: record('recorded'),
    leave: (first, isClaimed) => record(isClaimed ? 'left its claim of' : 'left')(first),
  };
  deliveries = start();
});
afterEach(() => {
  vi.useRealTimers();
});

function start(): PromptDeliveries {
  const nowMs = () => performance.now();
  const lanes = new Lanes(nowMs);
  return new PromptDeliveries({
    store,
    lanes,
    nowMs,
    deliverer: {
      attempt: async (turn, { endpoint }, onSlow) => {
        const { promise, resolve } = Promise.withResolvers<Ended>();
        attempts.push({ endpointId: endpoint.id, becomeSlow: onSlow, end: (ended) => resolve(ended) });
        const ended = await promise;
        turn.leave(ended === undefined ? 'notMade' : ended.state === 'delivered' ? 'taken' : 'failed');
        return ended;
      },
    },
    around: (_job, work) => work(),
    onError: (error) => errors.push(error),
  });
}

/** Commits an event for an endpoint. @returns its id */
function commit(endpointId: string): string {
  const transaction = sampleTransaction();
  const eventId = randomUUID();
  const outcome = { transactionId: transaction.id } as FirstDelivery['job']['outcome'];
  const data = { acquirerId: 1, eventId, endpointId, round: 1, delivery: 1, outcome };
  const job: JobRequest = { queue: 'webhook', id: randomUUID(), data, startAfterSeconds: 10 };
  deliveries.deliver(transaction, [job]);
  return eventId;
}

/** Lets everything happen that needs no time. */
const settle = () => vi.advanceTimersByTimeAsync(0);
const runningFor = (endpointId: string) => attempts.filter((attempt) => attempt.endpointId === endpointId).length;

/** Lets a receiver take so much that it is trusted with as many at once as any. */
async function prove(endpointId: string): Promise<void> {
  for (let n = 0; n < 6; n++) {
    commit(endpointId);
    await settle();
    attempts.pop()!.end(TAKEN);
    await settle();
  }
  log = [];
}

test('an event is delivered and recorded at once', async () => {
  const event = commit('a');
  await settle();
  expect(runningFor('a')).toBe(1);
  expect(log).toEqual([]);
  attempts[0]!.end(TAKEN);
  await settle();
  expect(log).toEqual([`recorded ${event}`]);
});

test('the commit of an event without a known endpoint leaves it to its job', async () => {
  const transaction = sampleTransaction();
  const data = { acquirerId: 1, eventId: randomUUID(), round: 1, delivery: 1 };
  deliveries.deliver(transaction, [{ queue: 'webhook', data, endpointOf: { integratorId: 1, serves: 'taps' } }]);
  await settle();
  expect([attempts, log]).toEqual([[], []]);
});

test('an endpoint that has taken nothing yet gets two at once, and a proven one 56', async () => {
  for (let n = 0; n < 5; n++) commit('new');
  await settle();
  expect(runningFor('new')).toBe(2);
  await prove('known');
  for (let n = 0; n < 60; n++) commit('known');
  await settle();
  expect(runningFor('known')).toBe(56);
  attempts.find(({ endpointId }) => endpointId === 'known')!.end(TAKEN);
  await settle();
  expect(runningFor('known')).toBe(57);
});

test('an endpoint that is disabled gets nothing, and its event is left to the job', async () => {
  disabled.add('a');
  const event = commit('a');
  await settle();
  expect([attempts, log]).toEqual([[], [`left ${event}`]]);
});

test('events for a receiver that fails are left to their jobs', async () => {
  for (let n = 0; n < 3; n++) {
    commit('a');
    await settle();
    attempts.shift()!.end({ ...TAKEN, state: 'pending' });
    await settle();
  }
  const event = commit('a');
  await settle();
  expect([attempts, log.at(-1)]).toEqual([[], `left ${event}`]);
});

test('a response that takes long is awaited with the job, and its place is free for others', async () => {
  const event = commit('a');
  await settle();
  attempts[0]!.becomeSlow();
  await settle();
  expect(log).toEqual([`claimed ${event}`]);
  attempts[0]!.end(TAKEN);
  await settle();
  expect(log).toEqual([`claimed ${event}`, `recorded ${event}`]);
});

test.each([
  [10, 'at once', 0],
  [40, 'when they have been silent for a second', 1],
])('%i endpoints that become silent leave a place for another one %s', async (count, _, becomeSlow) => {
  const silent = Array.from({ length: count }, (_, n) => `silent ${n}`);
  for (const endpoint of silent) await prove(endpoint);
  for (const endpoint of silent) for (let n = 0; n < 56; n++) commit(endpoint);
  await settle();
  expect(attempts.length).toBeLessThanOrEqual(1_024);
  commit('prompt');
  if (becomeSlow) for (const attempt of attempts) attempt.becomeSlow();
  await settle();
  expect(runningFor('prompt')).toBe(1);
});

test('what waits for others starts when they end, at whichever endpoint', async () => {
  const endpoints = Array.from({ length: 10 }, (_, n) => `endpoint ${n}`);
  for (const endpoint of endpoints) await prove(endpoint);
  for (const endpoint of endpoints) for (let n = 0; n < 50; n++) commit(endpoint);
  for (let taken = 0; taken < 500; taken++) {
    await settle();
    attempts.shift()!.end(TAKEN);
  }
  await settle();
  expect(log.filter((line) => line.startsWith('recorded')).length).toBe(500);
  expect(attempts).toEqual([]);
});

test.each([
  [false, 'left its claim of'],
  [true, 'left'],
])('a slow delivery that was not made leaves its job, but not to a third process: taken by another one %s', async (isTaken, left) => {
  const event = commit('a');
  if (isTaken) takenByOthers.add(event);
  await settle();
  attempts[0]!.becomeSlow();
  attempts[0]!.end(undefined);
  await settle();
  expect(log).toEqual([`claimed ${event}`, `${left} ${event}`]);
});

test('an endpoint may have half of the places of those that wait, and the rest is left to their jobs', async () => {
  for (let n = 0; n < 3_000; n++) commit('silent');
  await settle();
  const left = log.length;
  expect(left).toBeGreaterThan(0);
  expect(3_000 - left).toBeLessThanOrEqual(2_050);
  commit('prompt');
  await settle();
  expect(runningFor('prompt')).toBe(1);
});

test('an event whose turn comes too late is left to its job, which may start soon', async () => {
  await prove('a');
  for (let n = 0; n < 57; n++) commit('a');
  await settle();
  expect(runningFor('a')).toBe(56);
  await vi.advanceTimersByTimeAsync(4_001);
  for (const attempt of attempts) attempt.end(TAKEN);
  await settle();
  expect(log.filter((line) => line.startsWith('left'))).toHaveLength(1);
  expect(attempts).toHaveLength(56);
});

test('a stop leaves to jobs what waits, what received no response, and what is committed later', async () => {
  const running = [commit('a'), commit('a')];
  const waiting = commit('a');
  await settle();
  const stopped = deliveries.stop();
  for (const attempt of attempts) attempt.end(undefined);
  await stopped;
  const later = commit('a');
  await settle();
  expect(log.sort()).toEqual([...running, waiting, later].map((id) => `left ${id}`).sort());
});

test('a delivery that cannot be prepared or recorded is reported, and the next one is made', async () => {
  const { prepare, record } = store;
  store.prepare = async () => {
    throw new Error('prepare');
  };
  commit('a');
  await settle();
  store.prepare = prepare;
  store.record = async () => {
    throw new Error('record');
  };
  commit('a');
  await settle();
  attempts.shift()!.end(TAKEN);
  await settle();
  store.record = record;
  const event = commit('a');
  await settle();
  attempts.shift()!.end(TAKEN);
  await settle();
  expect(errors).toMatchObject([{ message: 'prepare' }, { message: 'record' }]);
  expect(log).toEqual([`recorded ${event}`]);
});
