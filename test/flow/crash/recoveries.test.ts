import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadProcessors } from '../../../src/kits/processor-kit/load-processors.ts';
import type { TapRequest } from '../../../src/payments/ports/switch-ports.ts';
import { verifyLedger } from '../../../src/tools/ledger/verify-ledger.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, type StartedGateway, startInstallation } from '../../support/installation.ts';
import { refundSale, sellApproved } from '../../support/refunds.ts';
import { outcomeOf } from '../../support/responses.ts';
import { tapwireHere } from '../../support/run-here.ts';
import { OwnPostgres } from './own-postgres.ts';

const DEVICE = randomUUID();

/**
 * A base backup and an archive of the write-ahead log, without its last minutes: the database lacks a sale and a refund that
 * the switch has booked. Phone and merchant repeat both.
 */
describe.each([
  { how: 'a recovery to a point in time, stated by an operator', isStated: true },
  { how: 'a replica that lacks the end of the log, promoted under a running gateway', isStated: false },
])('$how', ({ isStated }) => {
  let postgres: OwnPostgres;
  let installation: Installation;
  let gateway: StartedGateway;
  let key: Readonly<Record<string, string>>;
  let sale: string;
  let known: TapRequest;
  let lost: TapRequest;
  let booked: number;
  const refundReference = randomUUID();

  const phone = () => installation.phone('coffee', DEVICE);
  const seal = (amount: string) => phone().seal({ amount, currency: 'ZAR', merchantReference: randomUUID() });
  const submitApproved = async (request: TapRequest) => {
    const { type, serviceReference } = outcomeOf(await phone().submit(request));
    expect(type).toBe('Approved');
    return serviceReference;
  };
  const refund = () =>
    refundSale(installation, sale, { amount: '4.00', refundReference }, { 'content-type': 'application/json', ...key });
  const tapwire = (...words: string[]) => tapwireHere(['restored', ...words], installation.environment());
  const missing = async () => {
    const { database, ledger } = installation;
    const findings = await verifyLedger({ database, ledger, types: await loadProcessors() });
    return findings
      .filter(({ violationCount }) => violationCount > 0)
      .map(({ check, violationCount }) => ({ check, violationCount }));
  };

  beforeAll(async () => {
    postgres = await OwnPostgres.start();
    await postgres.archive();
    installation = await startInstallation({ testDatabase: postgres.database, role: 'none' });
    gateway = await installation.startGateway();
    key = { 'x-api-key': await installation.apiKey() };
    sale = await sellApproved(installation, '10.00');
    await postgres.backUp();
    known = await seal('11.00');
    await submitApproved(known);
    const at = await postgres.archiveNow();

    lost = await seal('12.00');
    await submitApproved(lost);
    expect(await refund()).toMatchObject({ status: 200 });
    booked = installation.ledger.length;

    if (isStated) await postgres.archiveNow();
    if (isStated) await gateway.stop();
    await postgres.stop('immediate');
    await postgres.recover(isStated ? at : undefined);
    if (!isStated) return;
    expect(await tapwire('--lost-from', at.toISOString())).toMatchObject({ exitCode: 0 });
    gateway = await installation.startGateway();
  });
  afterAll(() => installation.stop());

  test('a repeated sale and a repeated refund are not sent to the switch, and are held for a person', async () => {
    await eventually(async () => {
      expect(await phone().submit(lost)).toMatchObject({ status: 503 });
      expect(await refund()).toMatchObject({ status: 503 });
      const { stdout } = await tapwire('--json');
      expect(JSON.parse(stdout)).toMatchObject({
        references: expect.arrayContaining([
          expect.objectContaining({ kind: 'tap', reference: lost.merchantReference }),
          expect.objectContaining({ kind: 'refund', reference: refundReference }),
        ]),
      });
    });
    expect(installation.ledger).toHaveLength(booked);
  });

  test('a repeat of a sale that the database has gets its response', async () => {
    await submitApproved(known);
    expect(installation.ledger).toHaveLength(booked);
  });

  test('the books differ by the sale and the refund that are held, and by nothing else', async () => {
    expect(await missing()).toEqual([{ check: 'I1', violationCount: 2 }]);
  });

  test('no number is used again after the release', async () => {
    expect(await tapwire('--release', '--all')).toMatchObject({ exitCode: 0 });
    await eventually(async () => submitApproved(await seal('13.00')));
    const numbers = installation.ledger.map(({ tid, stan }) => `${tid} ${stan}`);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(numbers).toHaveLength(booked + 1);
  });
});
