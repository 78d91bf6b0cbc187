import { describe, expect, test } from 'vitest';
import { SealError } from '../../../src/errors.ts';
import type { Outcome } from '../../../src/processor-kit/processor.ts';
import { Disposition } from '../../../src/transactions/disposition.ts';
import type { CardVault, LateRecord, LateRecordOutcome, TransactionStore } from '../../../src/transactions/ports.ts';
import { lateFactsOf, type StrayResponse, settleStrays } from '../../../src/transactions/reversal/late-response.ts';
import { ReversalState, type Transaction } from '../../../src/transactions/transaction.ts';
import { SENT_AT_MS, sampleTransaction } from '../sample-transaction.ts';

const { sent, acknowledged } = ReversalState;
const KEPT = { mti: '0200', amount: '000000001000' };
const FACTS = { responseCode: '00', authorizationCode: '123456', cardTags: [] };
const APPROVED: Outcome = { ...FACTS, kind: 'approved', approvedMinor: 1_000 };
const DECLINED: Outcome = { ...FACTS, kind: 'declined', responseCode: '51' };

const VOIDED = sampleTransaction({
  disposition: Disposition.Voided,
  reversalState: acknowledged,
  reversalAttempt: 1,
});

function stray(outcome: Outcome | undefined = APPROVED): StrayResponse {
  return {
    acquirerId: 1,
    processorId: 1,
    stan: '000017',
    tid: 'TW000001',
    rrn: '606010000017',
    transmissionDateTime: '0301100000',
    read: (original) => {
      expect(original).toEqual(KEPT);
      return outcome;
    },
  };
}

/** A world whose store has `found`, gives `outcomes` to what is recorded, and `rows` to who looks again. */
function worldWith(
  found: (Transaction | undefined)[],
  { outcomes = ['recorded'], rows = [] }: { outcomes?: LateRecordOutcome[]; rows?: (Transaction | undefined)[] } = {},
  open: CardVault['open'] = () => ({ pan: '4111111111111111', expiry: '3012', original: KEPT }),
) {
  const records: LateRecord[] = [];
  const store = {
    findUncertain: async () => found,
    recordLate: async (record: LateRecord) => {
      records.push(record);
      return outcomes.shift() ?? 'recorded';
    },
    find: async () => rows.shift(),
  } as unknown as TransactionStore;
  const vault = { open } as CardVault;
  return { records, world: { store, vault, clock: { nowMs: () => SENT_AT_MS + 60_000, monotonicMs: () => 0 } } };
}

describe('a stray response', () => {
  test('of an uncertain transaction is late, and is recorded with the step that it causes', async () => {
    const { world, records } = worldWith([VOIDED]);
    expect(await settleStrays(world, [stray()])).toEqual(['late']);
    expect(records).toMatchObject([
      {
        transaction: VOIDED,
        late: { kind: 'approved', responseCode: '00', authorizationCode: '123456' },
        rearm: { to: { reversalState: ReversalState.owed, disposition: Disposition.Voided } },
        nowMs: SENT_AT_MS + 60_000,
      },
    ]);
  });

  test('that declines is recorded and causes nothing', async () => {
    const { world, records } = worldWith([VOIDED]);
    expect(await settleStrays(world, [stray(DECLINED)])).toEqual(['late']);
    expect(records[0]).toMatchObject({ late: { kind: 'declined', authorizationCode: '' }, rearm: undefined });
  });

  test('that was recorded before is a duplicate', async () => {
    const { world } = worldWith([VOIDED], { outcomes: ['known'] });
    expect(await settleStrays(world, [stray()])).toEqual(['duplicate']);
  });

  test('that answers nothing uncertain, or another kind of message, is unknown', async () => {
    const { world, records } = worldWith([undefined, VOIDED]);
    const ofAnotherKind = { ...stray(), read: () => undefined };
    expect(await settleStrays(world, [stray(), ofAnotherKind])).toEqual(['unknown', 'unknown']);
    expect(records).toEqual([]);
  });

  test('is decided anew when the reversal has taken a step meanwhile', async () => {
    const before = { ...VOIDED, disposition: Disposition.Indeterminate, reversalState: sent };
    const { world, records } = worldWith([before], { outcomes: ['moved', 'recorded'], rows: [VOIDED] });
    expect(await settleStrays(world, [stray()])).toEqual(['late']);
    expect(records.map(({ transaction }) => transaction)).toEqual([before, VOIDED]);
    expect(records[1]?.rearm?.transaction).toBe(VOIDED);
  });

  test('is given up when the reversal never stands still, or a new attempt has begun: it is looked for again', async () => {
    const restless = worldWith([VOIDED], { outcomes: ['moved', 'moved', 'moved'], rows: [VOIDED, VOIDED, VOIDED] });
    expect(await settleStrays(restless.world, [stray()])).toEqual(['unknown']);
    expect(restless.records).toHaveLength(3);
    const renewed = worldWith([VOIDED], { outcomes: ['moved'], rows: [{ ...VOIDED, attempt: 2 }] });
    expect(await settleStrays(renewed.world, [stray()])).toEqual(['unknown']);
    expect(renewed.records).toHaveLength(1);
  });

  test('whose original cannot be opened any more may have been an approval', async () => {
    const { world, records } = worldWith([VOIDED], {}, () => {
      throw new SealError('KEY_GONE');
    });
    expect(await settleStrays(world, [stray()])).toEqual(['late']);
    expect(records[0]).toMatchObject({ late: { kind: 'unknown', authorizationCode: '' }, rearm: expect.anything() });
  });

  test('that the processor trips over may have been an approval, and leaves the others of its batch alone', async () => {
    const strange: StrayResponse = {
      ...stray(),
      read: () => {
        throw new TypeError('unexpected');
      },
    };
    const other = { ...VOIDED, id: 'b1c8a4be-45c0-4d3a-9d2f-64d1a1f6a002' };
    const { world, records } = worldWith([VOIDED, other]);
    expect(await settleStrays(world, [strange, stray()])).toEqual(['late', 'late']);
    expect(records.map(({ late }) => late.kind)).toEqual(['unknown', 'approved']);
  });
});

test('the same answer many times in one batch is one commit; another answer is another', async () => {
  const { world, records } = worldWith([VOIDED, VOIDED, VOIDED, VOIDED]);
  const kinds = await settleStrays(world, [stray(), stray(), stray(DECLINED), stray()]);
  expect(kinds).toEqual(['late', 'duplicate', 'late', 'duplicate']);
  expect(records).toHaveLength(2);
});

test.each<[Outcome, object]>([
  [APPROVED, { kind: 'approved', responseCode: '00', authorizationCode: '123456' }],
  [DECLINED, { kind: 'declined', responseCode: '51', authorizationCode: '' }],
  [
    { ...FACTS, kind: 'pinRequired', responseCode: '70' },
    { kind: 'declined', responseCode: '70', authorizationCode: '' },
  ],
  [
    { ...FACTS, kind: 'unknown', why: 'MAC bad' },
    { kind: 'unknown', responseCode: '00', authorizationCode: '' },
  ],
])('a late outcome %o says no more than is certain', (outcome, facts) => {
  expect(lateFactsOf(outcome)).toEqual(facts);
});
