import { describe, expect, test } from 'vitest';
import { SealError } from '../../../src/basics/errors.ts';
import type { Completion } from '../../../src/kits/processor-kit/processor.ts';
import { REVERSAL_SCHEDULE } from '../../../src/kits/processor-kit/profile.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { ReversalState, type Transaction } from '../../../src/payments/model/transaction.ts';
import type { SwitchResponse } from '../../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import { Completions, completionJob } from '../../../src/payments/taps/completions.ts';
import { UNOBSERVED } from '../../support/unobserved.ts';
import { SENT_AT_MS, sampleTransaction } from '../sample-transaction.ts';

const APPROVED = sampleTransaction({
  disposition: Disposition.Approved,
  approvedMinor: 900,
  authorizationCode: '123456',
});
const ASKED = { acquirerId: 1, id: APPROVED.id, attempt: 1, completionAttempt: 1 };
const TAKEN = { kind: 'responded', value: true, connectionId: 'line' } as const;

function worldWith(
  transaction: Transaction | undefined,
  response: SwitchResponse<boolean> = TAKEN,
  {
    hasLine = true,
    nowMs = SENT_AT_MS + 1_000,
    mayBegin = true,
    canOpen = true,
    hasSwitch = true,
    lostUntilMs = undefined as number | undefined,
  } = {},
) {
  const steps: string[] = [];
  const sent: Completion[] = [];
  const alarms: string[] = [];
  const slot = {
    complete: async (completion: Completion) => {
      sent.push(completion);
      steps.push('sent');
      return response;
    },
    release: () => steps.push('released'),
  };
  const target = {
    profile: { deadlineMs: 30_000, reversal: REVERSAL_SCHEDULE },
    takeSlot: async () => (hasLine ? slot : undefined),
    nextStan: async () => ({ stan: '000018', putBack: () => steps.push('returned') }),
  };
  const deps = {
    clock: { nowMs: () => nowMs, monotonicMs: () => 0 },
    store: { find: async () => transaction },
    completions: {
      begin: async (_sale: Transaction, seconds: number) => {
        steps.push(`begun for ${seconds}`);
        return mayBegin;
      },
      end: async () => steps.push('ended'),
      giveUp: async () => steps.push('given up'),
    },
    directory: {
      routes: () => [{ id: 100, processorId: 1 }],
      merchant: () => ({ timeZone: 'Africa/Johannesburg' }),
      lostWindow: () => lostUntilMs && { fromMs: 0, untilMs: lostUntilMs, holdsAllTaps: false, released: new Set() },
    },
    vault: {
      open: () => {
        if (!canOpen) throw new SealError('KEY_GONE');
        return { pan: '4111111111111111', expiry: '3012', original: { mti: '0100' } };
      },
    },
    alarms: { needsReview: ({ id }: Transaction) => alarms.push(id) },
    observer: UNOBSERVED,
    path: { kind: 'direct', switches: { find: () => (hasSwitch ? target : undefined) } },
  };
  return { deps: deps as unknown as TransactionDependencies, sent, alarms, steps };
}

describe('the completion of an approval', () => {
  test('begins with the job that is committed with it', () => {
    expect(completionJob(APPROVED)).toEqual({ queue: 'complete', data: ASKED });
  });

  test('contains what was approved, with its own STAN, and ends when the switch has accepted it', async () => {
    const { deps, sent } = worldWith(APPROVED);
    expect(await new Completions(deps).send(ASKED)).toBe('done');
    expect(sent).toMatchObject([{ amountMinor: 900, authorizationCode: '123456', stan: '000018', attempt: 1 }]);
    expect(sent[0]!.localDateTime).toBe('20260301120001');
  });

  test.each<[string, SwitchResponse<boolean>]>([
    ['is refused', { kind: 'responded', value: false, connectionId: 'line' }],
    ['cannot be read', { kind: 'garbled', connectionId: 'line' }],
    ['receives no response', { kind: 'failed', written: true, reason: 'deadline', connectionId: 'line' }],
  ])('is sent as a repeat if it %s, with increasing delays', async (_how, response) => {
    const { deps } = worldWith(APPROVED, response);
    for (const [completionAttempt, againAfterSeconds] of [
      [1, 5],
      [2, 30],
      [6, 3_600],
      [60, 3_600],
    ] as const) {
      expect(await new Completions(deps).send({ ...ASKED, completionAttempt })).toEqual({
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
    ['no connection is free', worldWith(APPROVED, TAKEN, { hasLine: false })],
    [
      'a restored database may lack the void of its sale',
      worldWith(APPROVED, TAKEN, { lostUntilMs: APPROVED.updatedAtMs + 1 }),
    ],
    ['a void is being decided', worldWith({ ...APPROVED, reversalState: ReversalState.owed })],
  ])('is the same attempt again if %s', async (_why, { deps }) => {
    expect(await new Completions(deps).send(ASKED)).toEqual({ againAfterSeconds: 5 });
  });

  test('is retried with increasing delays while the switch is unavailable', async () => {
    for (const [secondsAway, againAfterSeconds] of [
      [600, 60],
      [86_400, 300],
    ] as const) {
      const { deps } = worldWith(APPROVED, TAKEN, { hasSwitch: false, nowMs: SENT_AT_MS + secondsAway * 1_000 });
      expect(await new Completions(deps).send(ASKED)).toEqual({ againAfterSeconds });
    }
  });

  test.each([
    ['was reversed', { ...APPROVED, disposition: Disposition.Voided }],
    ['is of another attempt', { ...APPROVED, attempt: 2 }],
    ['is not there', undefined],
  ])('is unnecessary if the sale %s', async (_why, transaction) => {
    const { deps, sent } = worldWith(transaction);
    expect(await new Completions(deps).send(ASKED)).toBe('done');
    expect(sent).toEqual([]);
  });

  test('the completion of an approval that no switch accepts for three days needs review', async () => {
    const nowMs = SENT_AT_MS + REVERSAL_SCHEDULE.giveUpAfterSeconds * 1_000 + 1;
    for (const hasSwitch of [true, false]) {
      const { deps, alarms, steps } = worldWith(APPROVED, TAKEN, { nowMs, hasSwitch });
      expect(await new Completions(deps).send(ASKED)).toBe('done');
      expect({ steps, alarms }).toEqual({ steps: ['given up'], alarms: [APPROVED.id] });
    }
  });

  test.each(['needsReview', 'resolved'] as const)('ends if its void is in state %s', async (state) => {
    const { deps, steps } = worldWith({ ...APPROVED, reversalState: ReversalState[state] });
    expect(await new Completions(deps).send(ASKED)).toBe('done');
    expect(steps).toEqual([]);
  });
});

describe('a void that is requested meanwhile', () => {
  const lost = { kind: 'failed', written: true, reason: 'deadline', connectionId: 'line' } as const;

  test('waits for a completion that was written, longer than its deadline if it receives no response', async () => {
    const responded = worldWith(APPROVED);
    await new Completions(responded.deps).send(ASKED);
    expect(responded.steps).toEqual(['begun for 35', 'sent', 'ended']);
    const withoutResponse = worldWith(APPROVED, lost);
    await new Completions(withoutResponse.deps).send(ASKED);
    expect(withoutResponse.steps).toEqual(['begun for 35', 'sent']);
  });

  test('does not wait for one of which no byte was written', async () => {
    const { deps, steps } = worldWith(APPROVED, { ...lost, written: false });
    await new Completions(deps).send(ASKED);
    expect(steps).toEqual(['begun for 35', 'sent', 'ended']);
  });

  test('was faster: nothing is sent, and the slot and the STAN are free again', async () => {
    const { deps, steps } = worldWith(APPROVED, TAKEN, { mayBegin: false });
    expect(await new Completions(deps).send(ASKED)).toEqual({ againAfterSeconds: 5 });
    expect(steps).toEqual(['begun for 35', 'released', 'returned']);
  });
});

test('the slot and the STAN are free again if the completion cannot be built', async () => {
  const { deps, steps } = worldWith(APPROVED, TAKEN, { canOpen: false });
  await expect(new Completions(deps).send(ASKED)).rejects.toThrow(SealError);
  expect(steps).toEqual(['released', 'returned']);
});
