import { expect, test, vi } from 'vitest';
import type { Switch } from '../../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import { prepareSubmission, type SubmissionContent } from '../../../src/payments/taps/prepare-submission.ts';

const ORIGIN = { id: 'a', routeId: 1, tid: 'T', mid: 'M' };
const CONTENT: SubmissionContent = {
  card: { pan: '4761739001010119', expiry: '2912' },
  build: () => ({ original: {} }),
};

function setUp(changes: Partial<Switch> = {}, seal = () => new Uint8Array(1)) {
  const release = vi.fn();
  const target = {
    profile: { deadlineMs: 30_000 },
    isFull: false,
    nextStan: async () => '000001',
    takeSlot: async () => ({ release }),
    ...changes,
  } as unknown as Switch;
  const clock = { nowMs: () => 0, monotonicMs: () => 1_000 };
  const deps = { clock, vault: { seal } } as unknown as TransactionDependencies;
  const prepare = (readContent = () => CONTENT) => prepareSubmission(deps, target, ORIGIN, readContent);
  return { release, prepare };
}

test('a submission that is ready keeps its slot, and its times count from the preparation', async () => {
  const { release, prepare } = setUp();
  expect(await prepare()).toMatchObject({
    submission: { routeId: 1, tid: 'T', mid: 'M', stan: '000001', deadlineSeconds: 30 },
    deadlineAtMs: 31_000,
  });
  expect(release).not.toHaveBeenCalled();
});

test('without a slot nothing is read or numbered, and the result says whether the switch is full', async () => {
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
  ['the content cannot be read', setUp(), fail],
  ['no STAN can be drawn', setUp({ nextStan: async () => fail() }), undefined],
  ['the message cannot be built', setUp(), () => ({ ...CONTENT, build: fail })],
  ['the card cannot be sealed', setUp({}, fail), undefined],
])('the slot is released once if %s', async (_what, { release, prepare }, readContent) => {
  await expect(prepare(readContent)).rejects.toBe(FAULT);
  expect(release).toHaveBeenCalledOnce();
});

test('the slot is released if the business day has no STAN left', async () => {
  const { release, prepare } = setUp({ nextStan: async () => undefined });
  expect(await prepare()).toBe('down');
  expect(release).toHaveBeenCalledOnce();
});
