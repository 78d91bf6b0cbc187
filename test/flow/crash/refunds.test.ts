import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FailpointName } from '../../../src/observe/failpoints.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { TransactionType, VoidState } from '../../../src/payments/model/transaction.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { request } from '../../support/requests.ts';
import { CrashSite } from './crash-site.ts';
import { startDoomed } from './doomed-gateway.ts';

const MOMENTS: readonly (readonly [FailpointName, string])[] = [
  ['before-refund-commit', 'before a refund is stored'],
  ['after-refund-commit', 'when a refund is stored and its amount reserved, before its bytes'],
  ['after-write', 'when the bytes of a refund have left'],
  ['after-response', 'when the switch has responded to a refund, before that is committed'],
  ['after-outcome-commit', 'when the outcome of a refund is committed'],
  ['before-void-commit', 'before a void is stored'],
  ['after-void-commit', 'when a void is stored, before its bytes'],
  ['after-reversal-commit', 'when the bytes of a void are about to leave'],
  ['after-reversal-write', 'when they have left'],
  ['after-reversal-response', 'when a void is acknowledged, before that is committed'],
  ['after-void-outcome', 'when that is committed'],
];

/** What an integrator wants to refund or void of a sale, and requests until it gets a response. */
interface Wanted {
  readonly sale: string;
  readonly path: 'refund' | 'void';
  readonly body: object | undefined;
}

let site: CrashSite;
let apiKey: string;
const wanted: Wanted[] = [];
let sales: string[];
beforeAll(async () => {
  site = await CrashSite.open();
  const { installation } = site;
  const gateway = await installation.startGateway();
  apiKey = await installation.apiKey();
  do {
    await site.tap(gateway.url, ['20.00', '21.00', '22.00']);
    const { rows } = await installation.database.query<{ id: string }>(
      'select id from transactions where disposition = $1 and type = $2',
      [Disposition.Approved, TransactionType.Tap],
    );
    sales = rows.map(({ id }) => id);
  } while (sales.length < 2 * MOMENTS.length);
  await gateway.stop();
});
afterAll(() => site.close());

async function ask(url: string, { sale, path, body }: Wanted): Promise<number | undefined> {
  const headers = { 'x-api-key': apiKey, ...(body && { 'content-type': 'application/json' }) };
  const options = { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) };
  return request(url, `/transactions/${sale}/${path}`, options).then(
    ({ status }) => status,
    () => undefined,
  );
}

test.each(
  MOMENTS,
)('%s: a gateway killed %s leaves every refund and void with a job that will move it on', async (moment) => {
  const gateway = await startDoomed(site.installation, `${moment}:kill`);
  const [first, second] = [sales.pop()!, sales.pop()!];
  const refund = { sale: first, path: 'refund', body: { amount: '5.00', refundReference: `back-${moment}` } } as const;
  const takesBack = { sale: second, path: 'void', body: undefined } as const;
  wanted.push(refund, takesBack);
  // One after the other: the moments of a refund occur with the refund, and those of a void after it.
  if (gateway.isUp) {
    await ask(gateway.process.url, refund);
    await ask(gateway.process.url, takesBack);
  }
  expect((await gateway.process.end()).exitCode, gateway.process.output).toBeNull();
  await expectSoundStates(site.installation.database);
  await site.letClaimsLapse();
});

test('a repeated request has one effect: every refund is made once, every void ends, and all books agree', async () => {
  const { installation } = site;
  const { url } = await installation.startGateway();
  for (const each of wanted) await ask(url, each);
  await site.untilQuiet();
  await site.expectNothingLost(url);
  const { rows } = await installation.database.query(
    `select refunded_minor::int as refunded, void_state as void, disposition, (select count(*)::int from transactions r
         where r.original_id = t.id and r.type = ${TransactionType.Refund}) as refunds
       from transactions t where id = any($1)`,
    [wanted.map(({ sale }) => sale)],
  );
  for (const { refunded, void: isVoid, disposition, refunds } of rows) {
    // A refund that a crash made uncertain was reversed, and no longer reserves anything.
    if (isVoid === null)
      expect([[0, 500].includes(refunded), disposition, refunds]).toEqual([true, Disposition.Approved, 1]);
    else expect([refunded, isVoid, disposition]).toEqual([0, VoidState.done, Disposition.Voided]);
  }
  expect(rows.filter(({ void: isVoid }) => isVoid !== null)).toHaveLength(
    wanted.filter(({ path }) => path === 'void').length,
  );
});
