import { expect, test } from 'vitest';
import { verifyLedger } from '../../src/ops/verify-ledger/verify-ledger.ts';
import { loadProcessors } from '../../src/processor-kit/load-processors.ts';
import type { Database } from '../../src/store/open-database.ts';
import { Disposition } from '../../src/transactions/disposition.ts';
import { outcomeOf } from '../support/answers.ts';
import { eventually } from '../support/eventually.ts';
import { GUARD_SECONDS, type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { Relay } from '../support/relay.ts';
import { restoreTestDatabase } from '../support/test-database.ts';
import { letDoubtPass, letTimePass, storedTransaction } from '../support/transactions.ts';

const ANOTHER_DATABASE = 'the database is another than before, a backup or a standby: STANs jump ahead';

test('a gateway on a restored backup sends what was owed, repeats no STAN, and can tell which taps the backup lacks', async () => {
  let relay!: Relay;
  const connectTo = async (switchPort: number) => {
    relay = await Relay.open(switchPort);
    return relay.port;
  };
  const installation = await startInstallation({ connectTo, role: 'none' });
  const lost = await installation.startGateway();
  const switchPort = relay.port;
  const sold = await sell(installation);
  const owed = await sellInVain(installation, relay);
  const before = Number((await storedTransaction(installation.database, sold)).stan);
  await lost.stop();

  const backup = await restoreTestDatabase(installation.environment().DATABASE_URL!);
  const { database } = backup;
  await letTimePass(database, owed, GUARD_SECONDS);
  const reopened = await Relay.open(installation.simulator.ports[0]!, switchPort);
  const gateway = await installation.startGateway({ DATABASE_URL: backup.url });
  expect(installation.logLines.filter(({ msg }) => msg === ANOTHER_DATABASE)).toHaveLength(1);

  await letDoubtPass(database, owed); // acknowledged on another line than the sale's
  await eventually(async () => expect((await storedTransaction(database, owed)).disposition).toBe(Disposition.Voided));
  const next = await sell(installation);
  expect(Number((await storedTransaction(database, next)).stan)).toBeGreaterThan(before + 100_000);
  await eventually(() => expectInvariants({ ...installation, database, ledger: installation.ledger }));

  await forget(database, sold);
  const findings = await verifyLedger({ database, ledger: installation.ledger, types: await loadProcessors() });
  expect(findings.flatMap(({ check, violationCount }) => (violationCount > 0 ? [check] : []))).toEqual(['I1']);

  await gateway.stop();
  await installation.stop();
  await backup.drop();
  await reopened.close();
});

async function sell(installation: Installation): Promise<string> {
  const answer = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  expect(answer.type).toBe('Approved');
  return answer.serviceReference;
}

/** Approved by the switch, which goes away before it has said so. */
async function sellInVain(installation: Installation, relay: Relay): Promise<string> {
  const booked = installation.ledger.length;
  const tapping = installation.phone().tap({ amount: '10.69', currency: 'ZAR' });
  await eventually(() => expect(installation.ledger).toHaveLength(booked + 1));
  await relay.close();
  const { type, serviceReference } = outcomeOf(await tapping);
  expect(type).toBe('Indeterminate');
  return serviceReference;
}

/** As if the tap had come after the backup. */
async function forget(database: Database, id: string): Promise<void> {
  await database.query('delete from transactions where id = $1', [id]);
}
