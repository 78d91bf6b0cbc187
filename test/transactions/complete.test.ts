import { describe, expect, test } from 'vitest';
import type { Completion } from '../../src/processor-kit/completion.ts';
import { REVERSAL_SCHEDULE } from '../../src/processor-kit/profile.ts';
import { completionJob, sendCompletion } from '../../src/transactions/complete.ts';
import { Disposition } from '../../src/transactions/disposition.ts';
import type { SwitchAnswer } from '../../src/transactions/ports.ts';
import { ReversalState, type Transaction } from '../../src/transactions/transaction.ts';
import type { World } from '../../src/transactions/world.ts';
import { SENT_AT_MS, sampleTransaction } from './sample-transaction.ts';

const APPROVED = sampleTransaction({
  disposition: Disposition.Approved,
  approvedMinor: 900,
  authorizationCode: '123456',
});
const ASKED = { acquirerId: 1, id: APPROVED.id, attempt: 1, completionAttempt: 1 };
const TAKEN = { kind: 'answered', value: true, connectionId: 'line' } as const;

function worldWith(
  transaction: Transaction | undefined,
  answer: SwitchAnswer<boolean> = TAKEN,
  { hasLine = true, nowMs = SENT_AT_MS + 1_000 } = {},
) {
  const sent: Completion[] = [];
  const alarms: string[] = [];
  const slot = {
    complete: async (completion: Completion) => {
      sent.push(completion);
      return answer;
    },
    release: () => {},
  };
  const target = {
    profile: { deadlineMs: 30_000, reversal: REVERSAL_SCHEDULE },
    takeSlot: async () => (hasLine ? slot : undefined),
    nextStan: async () => '000018',
  };
  const world = {
    clock: { nowMs: () => nowMs, monotonicMs: () => 0 },
    store: { find: async () => transaction },
    directory: { routes: () => [{ id: 100, processorId: 1 }], merchant: () => ({ timeZone: 'Africa/Johannesburg' }) },
    vault: { open: () => ({ pan: '4111111111111111', expiry: '3012', original: { mti: '0100' } }) },
    alarms: { needsReview: ({ id }: Transaction) => alarms.push(id) },
    path: { kind: 'direct', switches: { find: () => target } },
  };
  return { world: world as unknown as World, sent, alarms };
}

describe('the completion of an approval', () => {
  test('begins with the job that is committed with it', () => {
    expect(completionJob(APPROVED)).toEqual({ queue: 'complete', data: ASKED });
  });

  test('says what was approved, under a STAN of its own, and is over when the switch has taken it', async () => {
    const { world, sent } = worldWith(APPROVED);
    expect(await sendCompletion(world, ASKED)).toBe('done');
    expect(sent).toMatchObject([{ amountMinor: 900, authorizationCode: '123456', stan: '000018', attempt: 1 }]);
    expect(sent[0]!.localDateTime).toBe('20260301120001');
  });

  test.each<[string, SwitchAnswer<boolean>]>([
    ['is refused', { kind: 'answered', value: false, connectionId: 'line' }],
    ['cannot be read', { kind: 'garbled', connectionId: 'line' }],
    ['is not answered', { kind: 'failed', written: true, reason: 'deadline', connectionId: 'line' }],
  ])('is repeated as a repeat when it %s, ever later', async (_how, answer) => {
    const { world } = worldWith(APPROVED, answer);
    for (const [completionAttempt, againAfterSeconds] of [
      [1, 5],
      [2, 30],
      [6, 3_600],
      [60, 3_600],
    ] as const) {
      expect(await sendCompletion(world, { ...ASKED, completionAttempt })).toEqual({
        againAfterSeconds,
        payload: { ...ASKED, completionAttempt: completionAttempt + 1 },
      });
    }
  });

  test.each([
    [
      'no byte of it was written',
      worldWith(APPROVED, { kind: 'failed', written: false, reason: 'sendBy', connectionId: 'line' }),
    ],
    ['no line is free', worldWith(APPROVED, TAKEN, { hasLine: false })],
    ['a void is being decided', worldWith({ ...APPROVED, reversalState: ReversalState.owed })],
  ])('is the same attempt once more when %s', async (_why, { world }) => {
    expect(await sendCompletion(world, ASKED)).toEqual({ againAfterSeconds: 5 });
  });

  test.each([
    ['was taken back', { ...APPROVED, disposition: Disposition.Voided }],
    ['is of another attempt', { ...APPROVED, attempt: 2 }],
    ['is not there', undefined],
  ])('is needless when the sale %s', async (_why, transaction) => {
    const { world, sent } = worldWith(transaction);
    expect(await sendCompletion(world, ASKED)).toBe('done');
    expect(sent).toEqual([]);
  });

  test('that no switch takes for three days is for a person', async () => {
    const nowMs = SENT_AT_MS + REVERSAL_SCHEDULE.giveUpAfterSeconds * 1_000 + 1;
    const { world, sent, alarms } = worldWith(APPROVED, TAKEN, { nowMs });
    expect(await sendCompletion(world, ASKED)).toBe('done');
    expect({ sent, alarms }).toEqual({ sent: [], alarms: [APPROVED.id] });
  });
});
