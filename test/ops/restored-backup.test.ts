import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { readRestore, releaseHeld } from '../../src/store/transactions/lost-window.ts';
import { verifyLedger } from '../../src/tools/ledger/verify-ledger.ts';
import { eventually } from '../support/eventually.ts';
import { GUARD_SECONDS, type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { faultsIn } from '../support/log-lines.ts';
import { Relay } from '../support/relay.ts';
import { outcomeOf } from '../support/responses.ts';
import { restoreTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { letDoubtPass, letTimePass, storedTransaction } from '../support/transactions.ts';

const HELD =
  'database was restored and may lack commits: requests that could repeat lost ones are held until tapwire restored releases them';
const ANOTHER_DATABASE = 'database was replaced and may lack reservations, STANs skip ahead';

let installation: Installation;
let relay: Relay;
let backup: TestDatabase;
/** Two taps before the backup: an approved one, and one whose reversal is pending. */
let sold: string;
let owed: string;
let lastStan: number;

beforeAll(async () => {
  const connectTo = async (port: number) => {
    relay = await Relay.open(port);
    return relay.port;
  };
  installation = await startInstallation({ connectTo, role: 'none' });
  const lost = await installation.startGateway();
  const switchPort = relay.port;
  sold = await sell();
  owed = await sellInVain();
  lastStan = Number((await storedTransaction(installation.database, sold)).stan);
  await lost.stop();
  backup = await restoreTestDatabase(installation.environment().DATABASE_URL!);
  await letTimePass(backup.database, owed, GUARD_SECONDS);
  relay = await Relay.open(installation.simulator.ports[0]!, switchPort);
  await installation.startGateway({ DATABASE_URL: backup.url });
});
afterAll(async () => {
  await installation.stop();
  await backup.drop();
  await relay.close();
});

describe('a gateway on a restored backup', () => {
  test('sends the pending reversals', async () => {
    await letDoubtPass(backup.database, owed); // acknowledged on another connection than the sale's
    await eventually(async () =>
      expect((await storedTransaction(backup.database, owed)).disposition).toBe(Disposition.Voided),
    );
  });

  test('detects that its database is another one, and repeats no STAN', async () => {
    expect(installation.logLines.filter(({ msg }) => msg === ANOTHER_DATABASE)).toHaveLength(1);
    expect(await readRestore(backup.database)).toMatchObject({ cause: 'replaced' });
    await releaseHeld(backup.database, 'test', { what: 'all' }); // nothing was lost after the backup
    const { stan } = await storedTransaction(backup.database, await eventually(sell));
    expect(Number(stan)).toBeGreaterThan(lastStan + 10_000);
  });

  test('has books that agree with the switch, and the invariants hold', async () => {
    const { ledger } = installation;
    expect(faultsIn(installation.logLines).map(({ msg }) => msg)).toEqual([HELD]);
    const logLines = installation.logLines.filter(({ msg }) => msg !== HELD);
    await eventually(() => expectInvariants({ database: backup.database, ledger, logLines }));
    expect(await wrongChecks()).toEqual([]);
  });

  test('can show that a tap later than the backup is missing', async () => {
    await forget(sold);
    expect(await wrongChecks()).toEqual(['I1']);
  });
});

/** The checks of `tapwire verify-ledger` that found a violation. */
async function wrongChecks(): Promise<string[]> {
  const { ledger } = installation;
  const findings = await verifyLedger({ database: backup.database, ledger, types: await loadProcessors() });
  return findings.flatMap(({ check, violationCount }) => (violationCount > 0 ? [check] : []));
}

async function sell(): Promise<string> {
  const response = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  expect(response.type).toBe('Approved');
  return response.serviceReference;
}

/** A sale that the switch approves, whose response is lost with the connection. */
async function sellInVain(): Promise<string> {
  const booked = installation.ledger.length;
  const tapping = installation.phone().tap({ amount: '10.69', currency: 'ZAR' });
  await eventually(() => expect(installation.ledger).toHaveLength(booked + 1));
  await relay.close();
  const { type, serviceReference } = outcomeOf(await tapping);
  expect(type).toBe('Indeterminate');
  return serviceReference;
}

/** Simulates that the tap was later than the backup. */
async function forget(id: string): Promise<void> {
  await backup.database.query('delete from transactions where id = $1', [id]);
}
