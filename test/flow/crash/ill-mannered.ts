import { afterEach, expect, test } from 'vitest';
import { loadProcessors } from '../../../src/kits/processor-kit/load-processors.ts';
import { PinState } from '../../../src/payments/model/pin.ts';
import { ReversalState } from '../../../src/payments/model/transaction.ts';
import type { Finding } from '../../../src/tools/ledger/books.ts';
import { verifyLedger } from '../../../src/tools/ledger/verify-ledger.ts';
import { seededRandom } from '../../../src/tools/simulator/faults.ts';
import type { Manners } from '../../../src/tools/simulator/manners/manners.ts';
import { outcomeOf } from '../../support/answers.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { refundSale, voidSale } from '../../support/refunds.ts';
import { letAllDoubtsPass } from '../../support/transactions.ts';

const TAPS = 800;
const AT_ONCE = 40;
const DEADLINE_MS = 1_000;
/**
 * Reversals at a switch that never acknowledges are given up within this time, and a tap and its PIN have ended before.
 */
const AT_REST_WITHIN_MS = 600_000;

const PROFILE = {
  deadlineMs: DEADLINE_MS,
  overtakingGuardSeconds: 1,
  reversalDelaysSeconds: [1, 2, 4],
  reversalGiveUpAfterSeconds: 10,
};

let installation: Installation;

/**
 * A confirmation is due a minute after the acknowledgement, and a PIN within 90 s. The test does not depend on these
 * times.
 */
const CONFIRM_NOW = `update pgboss.job set start_after = now() from transactions t
  where name = 'reverse' and state = 'created' and t.id::text = data ->> 'id' and t.reversal_state = ${ReversalState.confirming}`;
const EXPIRE_NOW = `update transactions set pin_expires_at = now() where pin_state = ${PinState.awaiting}`;
const EXPIRY_JOBS_NOW = `update pgboss.job set start_after = now() where name = 'expire-pin' and state = 'created'`;

async function sellAndGiveBack(random: () => number): Promise<void> {
  const phone = installation.phone();
  const amount = `${10 + Math.floor(random() * 80)}.${random() < 0.9 ? '00' : '51'}`;
  const { type, serviceReference } = outcomeOf(await phone.tap({ amount, currency: 'ZAR' }));
  if (type !== 'Approved') return;
  const next = random();
  if (next < 0.2) await voidSale(installation, serviceReference);
  else if (next < 0.4)
    await refundSale(installation, serviceReference, { amount: '5.00', refundReference: `r-${serviceReference}` });
}

async function verify(): Promise<Finding[]> {
  const { database, ledger } = installation;
  return verifyLedger({ database, ledger, types: await loadProcessors() });
}

/** Declares a test for each pair of manners and a type of switch. */
export function testManners(cases: readonly (readonly [Manners, string])[]): void {
  afterEach(() => installation.stop());

  test.each(
    cases,
  )('with %s manners of a %s switch nothing is lost, duplicated or silently stuck', async (manners, type) => {
    installation = await startInstallation({ type, manners, seed: 7, profile: PROFILE, timeScale: 1 });
    const random = seededRandom(7);
    let left = TAPS;
    const customer = async () => {
      while (left-- > 0) await sellAndGiveBack(() => random.next());
    };
    await Promise.all(Array.from({ length: AT_ONCE }, customer));
    await eventually(async () => {
      await letAllDoubtsPass(installation.database);
      for (const hurry of [CONFIRM_NOW, EXPIRE_NOW, EXPIRY_JOBS_NOW]) await installation.database.query(hurry);
      const findings = await verify();
      const open = findings.filter((finding) => finding.open > 0 && finding.check !== 'I7');
      expect(open.map(({ check, open: count }) => [check, count])).toEqual([]);
    }, AT_REST_WITHIN_MS);
    const findings = await verify();
    expect(
      findings.flatMap(({ check, violations }) => violations.map(({ id, what }) => `${check} ${id} ${what}`)),
    ).toEqual([]);
  });
}
