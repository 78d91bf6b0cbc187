import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { voidSale } from '../support/refunds.ts';
import { request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { jobsOf, letDoubtPass, letTimePass, storedTransaction, trailOf } from '../support/transactions.ts';

/**
 * The table of scenarios in processors/README.md, row by row, over HTTP from a phone, for both types. The rows about
 * PINs are in pin-*.test.ts.
 */

/** Ten seconds of the table are half a second. */
const TIME_SCALE = 0.05;
/** Longer than the slowest response of the table. */
const DEADLINE_MS = 2_000;
/** Partial approvals are configurable: here they are allowed. */
const PROFILE = { deadlineMs: DEADLINE_MS, partialApproval: true };

describe.each(['type-1', 'type-2'])('%s', (type) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ type, profile: PROFILE, timeScale: TIME_SCALE });
  });
  afterEach(() => expectInvariants(installation));
  afterAll(() => installation.stop());

  const tap = async (amount: string) => {
    const { ms, ...response } = await installation.phone().tap({ amount, currency: 'ZAR' });
    return { ms, ...outcomeOf({ ms, ...response }) };
  };

  async function bookedFor(id: string) {
    const { rrn } = await storedTransaction(installation.database, id);
    return installation.ledger.find((entry) => entry.rrn === rrn);
  }

  function untilVoided(id: string) {
    return eventually(async () =>
      expect(await storedTransaction(installation.database, id)).toMatchObject({
        disposition: Disposition.Voided,
        reversalState: ReversalState.acknowledged,
      }),
    );
  }

  test.each(['10.00', '1.00', '999999.00'])('a whole amount is approved: %s', async (amount) => {
    const response = await tap(amount);
    expect(response).toMatchObject({ type: 'Approved', isoResponseCode: '00' });
    expect(await bookedFor(response.serviceReference)).toMatchObject({ state: 'approved', reversals: 0 });
  });

  test.each(['05', '14', '51', '54', '61', '91'])('x.%s is declined with that code', async (isoResponseCode) => {
    const response = await tap(`10.${isoResponseCode}`);
    expect(response).toMatchObject({ type: 'Declined', isoResponseCode, errorCode: 209 });
    expect(await bookedFor(response.serviceReference)).toBeUndefined();
  });

  test('x.96 is uncertain, because a switch may send it after posting', async () => {
    const response = await tap('10.96');
    expect(response.type).toBe('Indeterminate');
    await letDoubtPass(installation.database, response.serviceReference); // nothing was booked: the switch cannot locate it
    await untilVoided(response.serviceReference);
  });

  describe.concurrent('is approved by the switch, and reversed because the response cannot be used:', () => {
    test.each([
      ['x.69, no response', '10.69', 'NoResponseFromPaymentProcessor'],
      ['x.97, a garbage frame', '10.97', 'NoResponseFromPaymentProcessor'],
      ['x.87, another STAN', '10.87', 'NoResponseFromPaymentProcessor'],
      ['x.88, another amount', '10.88', 'BadResponseFromPaymentProcessor'],
      ['x.86, a bad MAC', '10.86', 'BadResponseFromPaymentProcessor'],
    ])('%s', async (_row, amount, status) => {
      const { serviceReference: id, ...response } = await tap(amount);
      expect(response).toMatchObject({ type: 'Indeterminate', errorCode: 203, isoResponseCode: '' });
      await untilVoided(id);
      expect(await bookedFor(id)).toMatchObject({ state: 'reversed', reversals: 1 });
      expect(await trailOf(installation.database, id)).toContain(status);
    });
  });

  test('x.68, an approval after the deadline, is Indeterminate; it is recorded, and certainly reversed', async () => {
    const { serviceReference: id, ms, ...response } = await tap('10.68');
    expect(response.type).toBe('Indeterminate');
    expect(ms).toBeGreaterThanOrEqual(DEADLINE_MS - 1);
    await eventually(async () => expect(await trailOf(installation.database, id)).toContain('late approved'));
    await untilVoided(id);
    expect(await bookedFor(id)).toMatchObject({ state: 'reversed' });
    await eventually(async () => expect(await jobsOf(installation.database, id)).toEqual([]));
  });

  describe.concurrent('receives its response after its delay, and is approved:', () => {
    test.each([
      ['10.10', 10_000],
      ['20.20', 20_000],
      ['30.30', 30_000],
    ])('%s', async (amount, afterMs) => {
      const { type: disposition, ms } = await tap(amount);
      expect(disposition).toBe('Approved');
      expect(ms).toBeGreaterThanOrEqual(afterMs * TIME_SCALE - 1);
    });
  });

  test('x.98, the connection dropped within the response: reversed on another connection when nothing can be overtaken', async () => {
    const { serviceReference: id, ...response } = await tap('10.98');
    expect(response.type).toBe('Indeterminate');
    await letTimePass(installation.database, id, 70);
    await letDoubtPass(installation.database, id); // acknowledged on another connection: requested once more
    await untilVoided(id);
    expect(await bookedFor(id)).toMatchObject({ state: 'reversed' });
  });

  test('x.99, a response that arrives twice, counts once', async () => {
    const response = await tap('10.99');
    expect(response).toMatchObject({ type: 'Approved', isoResponseCode: '00' });
    expect(await bookedFor(response.serviceReference)).toMatchObject({ state: 'approved', reversals: 0 });
  });

  test('x.89 is approved; its void is repeated until the third reversal is acknowledged', async () => {
    const { serviceReference: id, ...response } = await tap('10.89');
    expect(response.type).toBe('Approved');
    expect((await voidSale(installation, id)).status).toBe(202);
    for (const reversals of [1, 2, 3]) {
      await eventually(async () => expect(await bookedFor(id)).toMatchObject({ reversals }));
      await letTimePass(installation.database, id, 30);
    }
    await untilVoided(id);
  });

  test('x.85, a partial approval with code 10, is approved for half of the amount', async () => {
    const response = await tap('10.85');
    expect(response).toMatchObject({ type: 'Approved', isoResponseCode: '10', amount: 542 });
    const booked = await bookedFor(response.serviceReference);
    expect(booked).toMatchObject({ state: 'approved', amountMinor: 1_085, approvedMinor: 542 });
  });
});

describe.each(['type-1', 'type-2'])('%s', (type) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ type, profile: PROFILE });
  });
  afterEach(() => expectInvariants(installation));
  afterAll(() => installation.stop());

  const tap = async (amount: string) => outcomeOf(await installation.phone().tap({ amount, currency: 'ZAR' }));

  async function availability(): Promise<string[]> {
    const { body } = await request(installation.url, '/readyz');
    return Object.values((body as { switches: Readonly<Record<string, string>> }).switches);
  }

  test('503.00 is approved; then taps are UnableToGoOnline until the switch is back', async () => {
    await installation.startOutage();
    expect(await availability()).not.toContain('ready');
    const response = await tap('10.00');
    expect(response).toMatchObject({ type: 'UnableToGoOnline', errorCode: 210, isoResponseCode: '' });
    expect((await storedTransaction(installation.database, response.serviceReference)).stan).toBeNull();
    await installation.simulator.endOutages();
    await eventually(async () => expect((await tap('10.00')).type).toBe('Approved'));
  });
});
