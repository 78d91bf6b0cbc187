import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { outcomeOf } from '../support/responses.ts';
import { restoreTestDatabase, swapDatabases, type TestDatabase } from '../support/test-database.ts';

const DEVICE = randomUUID();

/**
 * A standby that lacks the last commits replaces its primary, while the gateway runs and a phone repeats what it sent in the
 * lost time. The gateway must know of the loss before its first commit there.
 */
describe('a database that is replaced under a running gateway', () => {
  let installation: Installation;
  let copy: TestDatabase;
  let lost: TapRequest;

  const phone = () => installation.phone('coffee', DEVICE);
  const submit = () => phone().submit(lost);
  const isHeld = async () => {
    const { rows } = await installation.database.query('select from held_references where reference = $1', [
      lost.merchantReference,
    ]);
    return rows.length > 0;
  };

  beforeAll(async () => {
    installation = await startInstallation();
    const url = installation.environment().DATABASE_URL!;
    copy = await restoreTestDatabase(url);
    lost = await phone().seal({ amount: '10.00', currency: 'ZAR', merchantReference: randomUUID() });
    const sale = await eventually(async () => outcomeOf(await submit()));
    expect(sale.type).toBe('Approved');
    await swapDatabases(url, copy);
  });
  afterAll(async () => {
    await installation.stop();
    await copy.drop();
  });

  test('books no repeated order twice: the repeats are refused from the first one on, and held', async () => {
    expect(installation.ledger).toHaveLength(1);
    await eventually(async () => {
      expect(await submit()).toMatchObject({ status: 503 });
      expect(installation.ledger).toHaveLength(1);
      expect(await isHeld()).toBe(true);
    });
    expect(installation.ledger).toHaveLength(1);
  });

  test('the log says once what may be lost', () => {
    expect(faultsIn(installation.logLines).filter(({ msg }) => msg.startsWith('database was restored'))).toHaveLength(
      1,
    );
  });
});
