import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { verifyLedger } from '../../src/tools/ledger/verify-ledger.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { enterPin, tapForPin } from '../support/pins.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { Backend } from '../webhooks/backend.ts';
import { startReceiver } from '../webhooks/receiver.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation();
});
afterAll(() => installation.stop());

test('a day with sales, a refund, a void, a PIN and a reversal has no violation', async () => {
  const { database } = installation;
  const receiver = await startReceiver();
  await (await Backend.open(installation)).listenAt(receiver.url);
  await database.query(`update webhook_endpoints set created_at = created_at - interval '1 hour'`);

  const refunded = await sellApproved(installation, '20.00');
  expect(
    (await refundSale(installation, refunded, { amount: '5.00', refundReference: 'refund-1' })).status,
  ).toBeLessThan(300);
  const voided = await sellApproved(installation, '21.00');
  expect((await voidSale(installation, voided)).status).toBe(202);
  const phone = installation.phone();
  expect(outcomeOf(await enterPin(phone, await tapForPin(phone))).type).toBe('Approved');
  expect(outcomeOf(await phone.tap({ amount: '10.69', currency: 'ZAR' })).type).toBe('Indeterminate');
  await eventually(async () => {
    expect((await storedSale(database, voided)).disposition).toBe(Disposition.Voided);
    const { rows } = await database.query('select from transactions where reversal_state in (1, 2, 5)');
    expect(rows).toEqual([]);
  });

  const types = await loadProcessors();
  const findings = await verifyLedger({ database, ledger: installation.ledger, types });
  expect(findings.flatMap(({ check, violations }) => violations.map((each) => ({ check, ...each })))).toEqual([]);
  await receiver.close();
});
