import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { request } from '../support/requests.ts';
import { jobsOf } from '../support/transactions.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation.stop());

test('a sale whose processor was removed is neither voided nor refunded, and the removal says how many there are', async () => {
  const { database } = installation;
  const sales = [await sellApproved(installation, '100.00'), await sellApproved(installation, '10.00')];
  await eventually(async () => expect(await jobsOf(database, sales[1]!)).toEqual([]));
  await database.query(`update routes set removed_at = now() - interval '1 minute' where acquirer_id = 1`);
  const headers = { 'x-api-key': await saveApiKey(database, { acquirerId: 1 }, ['processors:manage']) };
  const { rows } = await database.query<{ id: number }>('select id from processors where acquirer_id = 1');
  const path = `/acquirers/1/processors/${rows[0]!.id}`;
  const removed = await eventually(async () => {
    const response = await request(installation.url, path, { method: 'DELETE', headers });
    expect(response.status).toBe(204);
    return response;
  });
  expect(removed.headers.get('x-stranded-sales')).toBe('2');
  const event = await database.query(
    `select after from admin_events where kind = 'processor' order by id desc limit 1`,
  );
  expect(event.rows).toEqual([{ after: { strandedSales: 2 } }]);

  const count = async () => (await database.query('select from transactions')).rowCount;
  const before = await count();
  for (const sale of sales) {
    const gone = { status: 409, body: { errorCode: 212, detail: expect.stringContaining('was removed') } };
    expect(await voidSale(installation, sale)).toMatchObject(gone);
    const refund = { amount: '1.00', refundReference: randomUUID() };
    expect(await refundSale(installation, sale, refund)).toMatchObject(gone);
    expect(await storedSale(database, sale)).toMatchObject({ voidState: null, refundedMinor: 0 });
  }
  expect(await count()).toBe(before);
});
