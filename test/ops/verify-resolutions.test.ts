import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState, TransactionType } from '../../src/payments/model/transaction.ts';
import { PlantedBooks } from './planted-books.ts';

let books: PlantedBooks;
beforeAll(async () => {
  books = await PlantedBooks.open();
});
beforeEach(() => books.clear());
afterAll(() => books.close());

describe('a transaction that a person resolved', () => {
  const { Approved, Voided, Declined } = Disposition;
  /** The row as the commit of a resolution leaves it. */
  const resolved = (id: string, how: string, ageSeconds = 0) =>
    books.database.query(
      `insert into review_resolutions (acquirer_id, id, transaction_id, books, reason, state, seen, proposed_by, decided_at, to_disposition)
       select 1, gen_random_uuid(), id, $2, 'case 4711', 'done', '', 'user test', clock_timestamp() - $3 * interval '1 second', disposition
       from transactions where id = $1`,
      [id, how, ageSeconds],
    );

  test('a transaction that a person resolved as adjusted may differ from the ledger of the switch, and is counted', async () => {
    const { resolved: reversalState } = ReversalState;
    const voided = await books.transaction({ disposition: Voided, reversalState });
    books.entry(voided);
    const approved = await books.transaction({ disposition: Approved, reversalState });
    books.entry(approved, { state: 'reversed' });
    expect(Object.keys(await books.faults())).toEqual(expect.arrayContaining(['I1', 'I2']));
    await resolved(voided.id, 'adjusted');
    await resolved(approved.id, 'adjusted');
    expect(await books.faults()).toEqual({});
    const [i1, i2] = await books.verify();
    expect([i1!.misstated, i2!.misstated]).toEqual([1, 1]);
  });

  test('a transaction that a person resolved as adjusted is not excused for what the switch does later, another amount or another outcome', async () => {
    const { resolved: reversalState } = ReversalState;
    const plant = async (changes: object, how = 'adjusted', ageSeconds = 0) => {
      const voided = await books.transaction({ disposition: Voided, reversalState });
      books.entry(voided, changes);
      await resolved(voided.id, how, ageSeconds);
      return voided.id;
    };
    const covered = await plant({});
    const later = await plant({}, 'adjusted', 3_600);
    const otherAmount = await plant({ amountMinor: 5_000, approvedMinor: 5_000 });
    const changed = await plant({});
    const set = 'update review_resolutions set to_disposition = $2 where transaction_id = $1';
    await books.database.query(set, [changed, Approved]);
    const replaced = await plant({}, 'adjusted', 5);
    await resolved(replaced, 'voided');
    const named = (await books.faults()).I1!.map(({ id }) => id);
    expect(named.sort()).toEqual([later, otherAmount, changed, replaced].sort());
    expect(named).not.toContain(covered);
  });

  test('a transaction that a person resolved by a wrong statement about the books is a violation', async () => {
    const voided = await books.transaction({ disposition: Voided, reversalState: ReversalState.resolved });
    books.entry(voided);
    await resolved(voided.id, 'voided');
    expect((await books.faults()).I1).toMatchObject([{ id: voided.id }]);
  });

  test('a transaction that a person resolved and that the switch contradicts is in review, not a violation', async () => {
    const { resolved: reversalState } = ReversalState;
    const returned = await books.transaction({ disposition: Approved, reversalState });
    books.entry(returned, { state: 'reversed' });
    await books.transaction({ disposition: Approved, reversalState }); // and in no ledger
    await books.database.query('update transactions set needs_review = true');
    expect(await books.faults()).toEqual({});
    const [, i2, i3] = await books.verify();
    expect([i2!.inReview, i3!.inReview]).toEqual([1, 1]);
    await books.database.query('update transactions set needs_review = false');
    expect(Object.keys(await books.faults())).toEqual(expect.arrayContaining(['I2', 'I3']));
  });

  test('a transaction that a person resolved with the void of its sale is no longer flagged', async () => {
    const sale = await books.transaction({ disposition: Approved });
    books.entry(sale);
    const row = await books.transaction({ disposition: Declined });
    const asVoid = `update transactions set original_id = $2, type = ${TransactionType.Void} where id = $1`;
    await books.database.query(asVoid, [row.id, sale.id]);
    expect((await books.faults()).R).toMatchObject([{ id: row.id }]);
    await resolved(sale.id, 'approved');
    expect((await books.faults()).R).toBeUndefined();
  });
});
