import { afterAll, beforeAll, expect, test } from 'vitest';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { holdsLink } from '../../../src/payments/model/link.ts';
import { isBlocked, isInDoubt, keepsAmount } from '../../../src/payments/model/review.ts';
import { Status } from '../../../src/payments/model/status.ts';
import { ReversalState, type Transaction, VoidState } from '../../../src/payments/model/transaction.ts';
import { HOLDS } from '../../../src/store/links/link-claims.ts';
import { IS_BLOCKED, IS_IN_DOUBT, KEEPS_AMOUNT } from '../../../src/store/transactions/transaction-columns.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let opened: TestDatabase;
beforeAll(async () => {
  opened = await createTestDatabase();
});
afterAll(() => opened.drop());

type Row = Pick<Transaction, 'status' | 'disposition' | 'reversalState' | 'voidState' | 'needsReview'>;

const ROWS: readonly Row[] = Object.values(Status).flatMap((status) =>
  [null, ...Object.values(Disposition)].flatMap((disposition) =>
    Object.values(ReversalState).flatMap((reversalState) =>
      [null, ...Object.values(VoidState)].flatMap((voidState) =>
        [false, true].map((needsReview): Row => ({ status, disposition, reversalState, voidState, needsReview })),
      ),
    ),
  ),
);

async function inSql(condition: string): Promise<boolean[]> {
  const { rows } = await opened.database.query<{ holds: boolean }>(
    `select ${condition} as holds from unnest($1::int[], $2::int[], $3::int[], $4::int[], $5::boolean[])
       with ordinality as t(status, disposition, reversal_state, void_state, needs_review, n) order by n`,
    [
      ROWS.map(({ status }) => status),
      ROWS.map(({ disposition }) => disposition),
      ROWS.map(({ reversalState }) => reversalState),
      ROWS.map(({ voidState }) => voidState),
      ROWS.map(({ needsReview }) => needsReview),
    ],
  );
  return rows.map(({ holds }) => holds);
}

test.each([
  ['in doubt', IS_IN_DOUBT('t'), isInDoubt],
  ['keeping its amount', KEEPS_AMOUNT('t'), keepsAmount],
  ['holding its link', HOLDS, holdsLink],
] as const)('the database and the decisions agree about every transaction that is %s', async (_what, sql, decide) => {
  expect(await inSql(sql)).toEqual(ROWS.map((row) => decide(row)));
});

test('the database and the decisions agree about every sale that is blocked', async () => {
  const flags = [false, true];
  for (const ofSale of flags) {
    for (const related of [[], [false], [true], [false, true]]) {
      // The table of the condition, with the sale and its refunds and voids.
      const values = [ofSale, ...related].map((flag, n) => `(1, ${n}, ${n === 0 ? 'null::int' : 0}, ${flag})`);
      const { rows } = await opened.database.query<{ blocked: boolean }>(
        `with transactions (acquirer_id, id, original_id, needs_review) as (values ${values.join()})
         select ${IS_BLOCKED('s')} as blocked from transactions s where s.id = 0`,
      );
      const expected = isBlocked(
        { needsReview: ofSale },
        related.map((needsReview) => ({ needsReview })),
      );
      expect(rows).toEqual([{ blocked: expected }]);
    }
  }
});
