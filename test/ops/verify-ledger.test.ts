import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { PinState } from '../../src/payments/model/pin.ts';
import { moves, Status } from '../../src/payments/model/status.ts';
import { ReversalState, TransactionType, VoidState } from '../../src/payments/model/transaction.ts';
import { readLedger } from '../../src/tools/ledger/books.ts';
import { Ledger, ledgerServer } from '../../src/tools/simulator/ledger.ts';
import { listen, stopListening } from '../../src/tools/simulator/listening.ts';
import { tapwireHere } from '../support/run-here.ts';
import { TapwireProcess } from '../support/tapwire-process.ts';
import { move, PlantedBooks } from './planted-books.ts';

let books: PlantedBooks;
beforeAll(async () => {
  books = await PlantedBooks.open();
});
beforeEach(async () => {
  await books.clear();
  await books.plantSoundOnes();
});
afterAll(() => books.close());

test('books that agree have no violation, and each check examined something', async () => {
  expect(await books.faults()).toEqual({});
  const looked = Object.fromEntries((await books.verify()).map(({ check, lookedAt }) => [check, lookedAt]));
  expect(looked).toEqual({ I1: 2, I2: 1, I3: 1, I4: 2, I5: 3, I6: 3, I7: 0, I8: 2, F: 0, J: 0, R: 0 });
});

describe('I1: what a switch approved is Approved for the merchant, or reversed, or visibly open', () => {
  test('an approval without a row', async () => {
    books.entry({ stan: '999999', rrn: '606010999999' });
    expect(await books.faults()).toMatchObject({ I1: [{ what: 'approved at the switch, and in no transaction' }] });
  });

  test.each([
    ['Declined', Disposition.Declined, 0],
    ['UnableToGoOnline', Disposition.UnableToGoOnline, 0],
    ['Voided', Disposition.Voided, 3],
    ['Indeterminate, with a reversal that is over', Disposition.Indeterminate, 3],
  ])('a booked approval, and the merchant was shown %s', async (_what, disposition, reversalState) => {
    const planted = await books.transaction({ disposition, reversalState });
    books.entry(planted);
    expect((await books.faults()).I1).toMatchObject([{ id: planted.id }]);
  });

  test.each([
    ['owed', 1, { open: 1, inReview: 0 }],
    ['needsReview', 4, { open: 0, inReview: 1 }],
  ])('one whose reversal is %s is reported as such, and is no violation', async (_what, reversalState, counts) => {
    books.entry(await books.transaction({ disposition: Disposition.Indeterminate, reversalState }));
    const [i1] = await books.verify();
    expect(i1).toMatchObject({ check: 'I1', ...counts, violationCount: 0 });
  });
});

describe('a switch that reports something untrue', () => {
  const SAID = { received: 1, approvals: 0, declines: 0, refusedReversals: 0 };
  const { Declined, Voided, Approved } = Disposition;
  /** The result of each check of money. */
  async function verdicts() {
    const findings = await books.verify();
    const reported = findings.filter(({ misstated, violationCount }) => misstated + violationCount > 0);
    return reported.map(({ check, misstated, violationCount }) => [check, misstated, violationCount]);
  }

  test.each([
    ['denied what it booked', Declined, { declines: 1 }, 'approved'],
    ['acknowledged a reversal that it did not make', Voided, { acknowledgedAtMs: 50_000 }, 'approved'],
    ['denied a reversal that it made, twice', Approved, { refusedReversals: 2 }, 'reversed'],
    ['approved what it did not book', Approved, { approvals: 1, approvedAtMs: 1_000 }, 'unbooked'],
  ] as const)('a switch that reports something untrue and %s, has misstated it', async (_what, disposition, said, state) => {
    const reversalState = disposition === Voided ? 3 : 0;
    const planted = await books.transaction({ disposition, reversalState });
    if (reversalState === 3) {
      await books.tell(planted.id, [
        { reversal: 'sent', attempt: 1, at: '2026-03-01T10:00:00.000Z' },
        { reversal: 'acknowledged', attempt: 1, at: '2026-03-01T10:00:00.000Z' },
      ]);
    }
    books.entry(planted, { state, said: { ...SAID, ...said } });
    expect(await verdicts()).toEqual([[state === 'approved' ? 'I1' : state === 'reversed' ? 'I2' : 'I3', 1, 0]]);
  });

  test.each([
    [
      'an approval that followed a decline',
      Declined,
      { declines: 1, approvals: 1, approvedAtMs: 1_000 },
      'approved',
      'I1',
    ],
    ['an approval after the acknowledgement', Voided, { acknowledgedAtMs: 1, approvedAtMs: 60_000 }, 'approved', 'I1'],
    ['one refusal of a reversal', Approved, { refusedReversals: 1 }, 'reversed', 'I2'],
    ['no approval at all', Approved, { declines: 1 }, 'unbooked', 'I3'],
    ['an authorization that came twice', Approved, { received: 2, approvals: 1 }, 'approved', 'I4'],
  ] as const)('does not excuse %s', async (_what, disposition, said, state, check) => {
    const planted = await books.transaction({ disposition, reversalState: disposition === Voided ? 3 : 0 });
    books.entry(planted, { state, said: { ...SAID, ...said } });
    expect(Object.keys(await books.faults())).toContain(check);
  });
});

test('R: a reversal that ended without an acknowledgement must be flagged for a person', async () => {
  const planted = await books.transaction({ disposition: Disposition.Indeterminate, reversalState: 4 });
  expect((await books.faults()).R).toMatchObject([{ id: planted.id }]);
  await books.database.query('update transactions set needs_review = true where id = $1', [planted.id]);
  expect((await books.faults()).R).toBeUndefined();
});

test('I2: a reversed approval that is Approved for the merchant', async () => {
  const planted = await books.transaction();
  books.entry(planted, { state: 'reversed' });
  expect((await books.faults()).I2).toMatchObject([{ id: planted.id }]);
});

test('I3: an Approved transaction that no switch approved', async () => {
  const planted = await books.transaction();
  expect(await books.faults()).toMatchObject({ I3: [{ id: planted.id }] });
});

describe('an attempt that was superseded by one with a PIN', () => {
  /** An Approved transaction whose earlier attempt required a PIN, and was approved as well. */
  async function plantSuperseded(reversalState: number, isBooked = true) {
    const planted = await books.transaction();
    if (isBooked) books.entry(planted);
    const earlier = { stan: '000999', rrn: `earlier ${reversalState}` };
    await books.database.query(
      `insert into superseded_attempts (acquirer_id, transaction_id, attempt, route_id, tid, stan, rrn, sent_at, reversal_state)
       values (1, $1, 0, 100, 'TW000001', $2, $3, now(), $4)`,
      [planted.id, earlier.stan, earlier.rrn, reversalState],
    );
    return { id: planted.id, earlier };
  }

  test('may be reversed, and is not a second authorization', async () => {
    const { earlier } = await plantSuperseded(3);
    books.entry(earlier, { state: 'reversed' });
    expect(await books.faults()).toEqual({});
  });

  test('I1: must not be booked at the switch', async () => {
    const { id, earlier } = await plantSuperseded(0);
    books.entry(earlier);
    expect((await books.faults()).I1).toMatchObject([{ id }]);
  });

  test('I3: does not approve its transaction', async () => {
    const { id, earlier } = await plantSuperseded(3, false);
    books.entry(earlier, { state: 'reversed' });
    expect((await books.faults()).I3).toMatchObject([{ id }]);
  });

  test('J: has a job while its reversal is in progress', async () => {
    const { id, earlier } = await plantSuperseded(1);
    books.entry(earlier);
    expect(await books.faults()).toMatchObject({ J: [{ id }] });
  });
});

test('I4: two approvals for one attempt, with another DE7', async () => {
  const planted = await books.transaction();
  books.entry(planted);
  books.entry(planted);
  expect(await books.faults()).toMatchObject({ I4: [{ id: planted.id }] });
});

describe('I5: no STAN twice in its scope and business day', () => {
  test('twice on a terminal and day', async () => {
    await books.transaction({ disposition: Disposition.Declined, stan: '000777' });
    await books.transaction({ disposition: Disposition.Declined, stan: '000777' });
    expect((await books.faults()).I5).toMatchObject([{ what: expect.stringContaining('STAN 000777 2 times') }]);
  });

  test('the same STAN on two business days is no violation, with dates or with a cut-over in between', async () => {
    const noonMs = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 43_200_000;
    const at = (hours: number) => new Date(noonMs + hours * 3_600_000);
    const declined = { disposition: Disposition.Declined, stan: '000777' } as const;
    await books.transaction({ ...declined, createdAt: at(-48) });
    await books.transaction({ ...declined, createdAt: at(0) });
    expect(await books.faults()).toEqual({});
    await books.transaction({ ...declined, createdAt: at(2) });
    expect(Object.keys(await books.faults())).toEqual(['I5']);
    await books.database.query(
      'insert into business_dates (acquirer_id, processor_id, business_date, since) values (1, 1, $1::timestamptz::date + 1, $1)',
      [at(1)],
    );
    expect(await books.faults()).toEqual({});
    await books.database.query('truncate business_dates');
  });
});

describe('I6: every audit trail is a path of declared transitions', () => {
  const { RequestReceived, SubmittedToPaymentProcessor, RespondedToPhone } = Status;
  test.each([
    ['there is no event', []],
    ['a move that is not declared', [move(null, RequestReceived), move(RequestReceived, SubmittedToPaymentProcessor)]],
    ['an end that is not the row', [move(null, RequestReceived)]],
    ['a gap', [move(null, RequestReceived), move(7, RespondedToPhone)]],
  ])('%s', async (_what, trail) => {
    const planted = await books.transaction({ disposition: Disposition.Declined, trail });
    expect((await books.faults()).I6).toMatchObject([{ id: planted.id }]);
  });
});

describe('I7: one event for each outcome', () => {
  const endpointId = randomUUID();
  const event = (transactionId: string, state: string, sequence: number) =>
    books.database.query(
      `insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, state)
       values (1, $1, 10, $2, $3, 'transaction.completed', $4, $5)`,
      [
        randomUUID(),
        endpointId,
        transactionId,
        JSON.stringify({ sequence, disposition: 'Declined', amount: 10 }),
        state,
      ],
    );
  beforeEach(async () => {
    await books.clear();
    await books.database.query(
      `insert into webhook_endpoints (acquirer_id, id, integrator_id, serves, url, sealed_secret, created_at)
       values (1, $1, 10, 'taps', 'https://x.example', '', now() - interval '1 day')`,
      [endpointId],
    );
  });

  test('delivered once is right; none, two, and one without a job are wrong', async () => {
    const { id } = await books.transaction({ disposition: Disposition.Declined });
    expect(await books.faults()).toMatchObject({ I7: [{ id, what: 'no event of sequence 1' }] });
    await event(id, 'delivered', 1);
    expect(await books.faults()).toEqual({});
    await event(id, 'pending', 1);
    const whats = (await books.faults()).I7!.map(({ what }) => what);
    expect(whats).toEqual([
      '2 events of sequence 1',
      expect.stringContaining('is pending without a job that delivers it'),
    ]);
  });

  test('a void is a second event', async () => {
    const { id } = await books.transaction({ disposition: Disposition.Voided, reversalState: 3 });
    await event(id, 'delivered', 1);
    expect(await books.faults()).toMatchObject({ I7: [{ id, what: 'no event of sequence 2' }] });
  });
});

describe('I8: amount and currency are the same everywhere', () => {
  test.each([
    ['another amount', { amountMinor: 999 }],
    ['another approved amount', { approvedMinor: 500 }],
    ['another currency', { currencyNumeric: '840' }],
  ])('%s at the switch', async (_what, changes) => {
    const planted = await books.transaction();
    books.entry(planted, changes);
    expect(await books.faults()).toMatchObject({ I8: [{ id: planted.id }] });
  });
});

test('J: a status that must not rest without an open attempt, and a reversal without a job', async () => {
  const resting = await books.transaction({ disposition: null });
  const owed = await books.transaction({ disposition: Disposition.Indeterminate, reversalState: 1 });
  const ids = (await books.faults()).J!.map(({ id }) => id);
  expect(ids.sort()).toEqual([resting.id, owed.id].sort());
});

test('J: an awaited PIN, and a wait without a job, in a status that may otherwise rest', async () => {
  const asked = await books.transaction({
    disposition: null,
    status: Status.RespondedToPhone,
    trail: moves(null, [1, 3, 4, 7, 8], 0),
  });
  await books.database.query('update transactions set pin_state = $1 where id = $2', [PinState.awaiting, asked.id]);
  expect((await books.faults()).J).toEqual([{ id: asked.id, what: 'awaits a PIN without a job that ends the wait' }]);
});

test('J: a refund in progress without an open attempt', async () => {
  const refund = await books.transaction({ disposition: null });
  await books.database.query('update transactions set type = $1 where id = $2', [TransactionType.Refund, refund.id]);
  expect((await books.faults()).J).toEqual([{ id: refund.id, what: 'rests in status 4 without an open attempt' }]);
});

test('J: a void whose sale has no reversal', async () => {
  const sale = await books.transaction();
  books.entry(sale);
  const asked = await books.transaction({ disposition: null, status: 8, trail: moves(null, [1, 8], 0) });
  await books.database.query('update transactions set type = $1, original_id = $2 where id = $3', [
    TransactionType.Void,
    sale.id,
    asked.id,
  ]);
  const drive = (voidState: number, reversalState: number) =>
    books.database.query('update transactions set void_state = $1, reversal_state = $2 where id = $3', [
      voidState,
      reversalState,
      sale.id,
    ]);
  const fault = { id: asked.id, what: 'is a void without a reversal in progress' };
  expect((await books.faults()).J).toEqual([fault]);
  await drive(VoidState.asked, ReversalState.acknowledged);
  expect((await books.faults()).J).toEqual([fault]);
  await drive(VoidState.asked, ReversalState.owed);
  expect((await books.faults()).J).toEqual([{ id: sale.id, what: 'its reversal is in state 1 without a job' }]);
});

test('submissions before the start of the ledger are not searched for in it', async () => {
  const since = new Date(Date.now() - 60_000);
  await books.transaction({ createdAt: new Date(Date.now() - 3_600_000) });
  expect(Object.keys(await books.faults())).toEqual(['I3']);
  expect(await books.faults(since)).toEqual({});
});

test('what waited for a person or a job before that start is not judged', async () => {
  const createdAt = new Date(Date.now() - 3_600_000);
  const indeterminate = { createdAt, disposition: Disposition.Indeterminate };
  books.entry(await books.transaction({ ...indeterminate, reversalState: ReversalState.needsReview }));
  await books.transaction({ createdAt, disposition: null, status: Status.SubmittedToPaymentProcessor });
  expect(Object.keys(await books.faults())).toEqual(['J', 'R']);
  const since = new Date(Date.now() - 60_000);
  expect(await books.faults(since)).toEqual({});
  const ofRows = (await books.verify(since)).filter(({ check }) => check === 'J' || check === 'R');
  expect(ofRows).toMatchObject([
    { lookedAt: 0, open: 0, inReview: 0 },
    { lookedAt: 0, inReview: 0 },
  ]);
});

test('the first twenty of many violations are named, and all are counted', async () => {
  for (let n = 0; n < 25; n++) books.entry({ stan: '999999', rrn: `9${n}` });
  const [i1] = await books.verify();
  expect(i1).toMatchObject({ violationCount: 25 });
  expect(i1!.violations).toHaveLength(20);
});

describe('tapwire verify-ledger', () => {
  async function served<T>(work: (url: string) => Promise<T>, entries = books.ledger): Promise<T> {
    const ledger = new Ledger();
    for (const { state: _, approvedAtMs, ...entry } of entries) {
      ledger.approve({ ...entry, approvedAtMs, authorizationCode: '123456' });
    }
    for (const { processor, key, tid, state } of entries) {
      if (state === 'reversed') ledger.reverse(processor, key, tid, Date.now());
    }
    const server = ledgerServer(ledger);
    const port = await listen(server, 0, '127.0.0.1');
    try {
      return await work(`http://127.0.0.1:${port}/ledger`);
    } finally {
      await stopListening(server);
    }
  }
  const words = (url: string, ...more: string[]) => [
    'verify-ledger',
    '--ledger',
    url,
    '--database',
    books.url,
    ...more,
  ];
  const run = (url: string, ...more: string[]) => tapwireHere(words(url, ...more), {});

  test('prints a line for each check and ends with 0 when all hold', async () => {
    const ended = await served((url) => TapwireProcess.run(words(url)));
    expect(ended.stdout).toMatch(/^I1 +2 +0 +0 +0 +0 +an approval of a switch/m);
    expect(ended.exitCode, ended.output).toBe(0);
  });

  test('names what is wrong and ends with 1', async () => {
    books.entry({ stan: '999999', rrn: '606010999999' });
    const ended = await served((url) => run(url));
    expect(ended.exitCode).toBe(1);
    expect(ended.stdout).toMatch(/I1 {2}entry type-1 999999-2 {2}approved at the switch, and in no transaction/);
    const asJson = await served((url) => run(url, '--json'));
    expect(JSON.parse(asJson.stdout)[0]).toMatchObject({ check: 'I1', violationCount: 1 });
  });

  test('takes the ledgers of several switches as one', async () => {
    const [first, ...others] = books.ledger;
    const both = (one: string) => served((other) => run(one, '--ledger', other), others);
    expect(await served((one) => both(one), [first!])).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await served((one) => run(one), others)).exitCode).toBe(1);
  });

  test('reports in a sentence that no ledger is served there', async () => {
    const ended = await run('http://127.0.0.1:1/ledger');
    expect(ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('does not serve a complete ledger') });
  });

  test('reads a ledger of a hundred thousand entries as they arrive', async () => {
    for (let n = 0; n < 100_000; n++) books.entry({ stan: String(n).padStart(6, '0'), rrn: `x${n}` });
    const count = await served(async (url) => {
      let lines = 0;
      for await (const _line of readLedger(url)) lines++;
      return lines;
    });
    expect(count).toBe(100_002);
  });
});
