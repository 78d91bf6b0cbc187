import { expect, test, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/basics/errors.ts';
import type { Switch } from '../../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import type { LateResponses } from '../../../src/payments/reversals/late-responses.ts';
import type { Outcomes } from '../../../src/payments/reversals/outcomes.ts';
import { Attempts, type Plan } from '../../../src/payments/taps/attempts.ts';
import {
  prepareSubmission,
  type ReadySubmission,
  type SubmissionContent,
} from '../../../src/payments/taps/prepare-submission.ts';
import type { Routes } from '../../../src/payments/taps/routes.ts';
import { Submissions } from '../../../src/payments/taps/submissions.ts';
import { UNOBSERVED } from '../../support/unobserved.ts';
import { sampleTransaction } from '../sample-transaction.ts';

const ORIGIN = { id: 'a', routeId: 1, tid: 'T', mid: 'M' };
const CONTENT: SubmissionContent = {
  card: { pan: '4761739001010119', expiry: '2912' },
  build: () => ({ original: {} }),
};

function setUp(changes: Partial<Switch> = {}, seal = () => new Uint8Array(1)) {
  const [release, putBack] = [vi.fn(), vi.fn()];
  const target = {
    profile: { deadlineMs: 30_000 },
    isFull: false,
    nextStan: async () => ({ stan: '000001', rrnAtMs: (atMs: number) => atMs, putBack }),
    takeSlot: async () => ({ release }),
    ...changes,
  } as unknown as Switch;
  const clock = { nowMs: () => 0, monotonicMs: () => 1_000 };
  const deps = { clock, vault: { seal } } as unknown as TransactionDependencies;
  const prepare = (readContent = () => CONTENT) => prepareSubmission(deps, target, ORIGIN, readContent);
  return { release, putBack, prepare };
}

test('a submission that is ready keeps its slot, and its times count from the preparation', async () => {
  const { release, prepare } = setUp();
  expect(await prepare()).toMatchObject({
    submission: { routeId: 1, tid: 'T', mid: 'M', stan: '000001', deadlineSeconds: 30 },
    deadlineAtMs: 31_000,
  });
  expect(release).not.toHaveBeenCalled();
});

test('nothing is read or numbered without a slot, and the result says whether the switch is full', async () => {
  const readContent = vi.fn(() => CONTENT);
  const takeSlot = async () => undefined;
  expect(await setUp({ takeSlot }).prepare(readContent)).toBe('down');
  expect(await setUp({ takeSlot, isFull: true }).prepare(readContent)).toBe('full');
  expect(readContent).not.toHaveBeenCalled();
});

const FAULT = new Error('fault');
const fail = () => {
  throw FAULT;
};

test.each([
  ['the content cannot be read', setUp(), fail, 0],
  ['no STAN can be drawn', setUp({ nextStan: async () => fail() }), undefined, 0],
  ['the message cannot be built', setUp(), () => ({ ...CONTENT, build: fail }), 1],
  ['the card cannot be sealed', setUp({}, fail), undefined, 1],
])('the slot is released once, and a STAN returned, if %s', async (_what, setup, readContent, returned) => {
  await expect(setup.prepare(readContent)).rejects.toBe(FAULT);
  expect(setup.release).toHaveBeenCalledOnce();
  expect(setup.putBack).toHaveBeenCalledTimes(returned);
});

test.each([
  ['is certainly in no row', true],
  ['may be in a row', false],
])('a submission that is withdrawn releases its slot, and the STAN is returned only if it %s', async (_what, isUnstored) => {
  const { release, putBack, prepare } = setUp();
  const prepared = await prepare();
  if (typeof prepared === 'string') throw new Error(prepared);
  prepared.withdraw(isUnstored);
  expect(release).toHaveBeenCalledOnce();
  expect(putBack).toHaveBeenCalledTimes(isUnstored ? 1 : 0);
});

test('the slot is released if the business day has no STAN left', async () => {
  const { release, prepare } = setUp({ nextStan: async () => undefined });
  expect(await prepare()).toBe('down');
  expect(release).toHaveBeenCalledOnce();
});

/** How a commit ended, and whether its STAN is free again; undefined if the submission is committed. */
const COMMITS: readonly [string, () => Promise<boolean>, boolean | undefined][] = [
  ['is done', async () => true, undefined],
  ['is refused', async () => false, true],
  ['fails before it begins', () => Promise.reject(new StoreUnavailable(false)), true],
  ['fails after COMMIT was sent', () => Promise.reject(new StoreUnavailable(true)), false],
  ['fails for an unknown reason', () => Promise.reject(FAULT), false],
];

test.each(
  COMMITS,
)('a STAN is used again only if it is certainly stored nowhere: the commit %s', async (_how, write, isFree) => {
  const isUnstored = isFree === undefined ? [] : [[isFree]];
  const withdraw = vi.fn();
  const transaction = sampleTransaction();
  const deps = {
    clock: { nowMs: () => 0 },
    newId: () => 'a',
    observer: UNOBSERVED,
    store: { submit: write, find: async () => transaction },
  } as unknown as TransactionDependencies;
  const ready = { submission: {}, withdraw } as unknown as ReadySubmission;
  const outcomes = {} as Outcomes;
  const submissions = new Submissions(deps, outcomes, {} as LateResponses);
  await submissions.submit(transaction, ready).catch(() => {});
  expect(withdraw.mock.calls).toEqual(isUnstored);

  const abandon = vi.fn();
  const plan = { attempt: { transaction }, abandon } as unknown as Plan;
  const isWritten = await new Attempts(deps, {} as Routes, outcomes, submissions).commit(plan, write).catch(() => true);
  if (!isWritten) plan.abandon(true); // as its callers do
  expect(abandon.mock.calls).toEqual(isUnstored);
});
