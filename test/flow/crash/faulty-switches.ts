import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { loadProcessors } from '../../../src/kits/processor-kit/load-processors.ts';
import { PinState } from '../../../src/payments/model/pin.ts';
import { MUST_NOT_REST } from '../../../src/payments/model/status.ts';
import { ReversalState, RUNNING_REVERSAL_STATES } from '../../../src/payments/model/transaction.ts';
import type { Finding } from '../../../src/tools/ledger/books.ts';
import { verifyLedger } from '../../../src/tools/ledger/verify-ledger.ts';
import type { Phone, PhoneResponse } from '../../../src/tools/phone/phone.ts';
import type { Behaviour } from '../../../src/tools/simulator/behaviour/faulty-switch.ts';
import { seededRandom } from '../../../src/tools/simulator/faults.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { refundSale, voidSale } from '../../support/refunds.ts';
import { outcomeOf } from '../../support/responses.ts';
import { letAllDoubtsPass } from '../../support/transactions.ts';

const TAPS = 800;
const AT_ONCE = 40;
const DEADLINE_MS = 1_000;
const REPEAT_AFTER_MS = 500;
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
/** What the books count as open, for a look that takes a millisecond: comparing them takes a second of a processor. */
const OPEN = `select from transactions where status in (${MUST_NOT_REST.join()})
  or pin_state = ${PinState.awaiting} or reversal_state in (${RUNNING_REVERSAL_STATES.join()})`;

/** A person at a till, with a phone and the key of the till's backend. */
interface Customer {
  readonly phone: Phone;
  readonly headers: Readonly<Record<string, string>>;
}

async function sellAndGiveBack({ phone, headers }: Customer, random: () => number): Promise<void> {
  const amount = `${10 + Math.floor(random() * 80)}.${random() < 0.9 ? '00' : '51'}`;
  const { type, serviceReference } = outcomeOf(await tapUntilTaken(phone, amount));
  if (type !== 'Approved') return;
  const next = random();
  if (next < 0.2) await voidSale(installation, serviceReference, headers);
  else if (next < 0.4) {
    const body = { amount: '5.00', refundReference: `r-${serviceReference}` };
    await refundSale(installation, serviceReference, body, headers);
  }
}

/** Repeats the request, as phones do, if the gateway has no free connection to its database or cannot read the outcome in time. */
async function tapUntilTaken(phone: Phone, amount: string): Promise<PhoneResponse> {
  const request = await phone.seal({ amount, currency: 'ZAR' });
  for (;;) {
    const response = await phone.submit(request);
    if (response.status !== 503 && response.status !== 500) return response;
    await sleep(REPEAT_AFTER_MS);
  }
}

async function verify(): Promise<Finding[]> {
  const { database, ledger } = installation;
  return verifyLedger({ database, ledger, types: await loadProcessors() });
}

/** Declares a test for each pair of a behaviour and a type of switch. */
export function testBehaviours(cases: readonly (readonly [Behaviour, string])[]): void {
  afterEach(() => installation.stop());

  test.each(
    cases,
  )('with %s behaviour of a %s switch nothing is lost, duplicated or silently stuck', async (behaviour, type) => {
    installation = await startInstallation({ type, behaviour, seed: 7, profile: PROFILE, timeScale: 1 });
    const random = seededRandom(7);
    let left = TAPS;
    const headers = { 'x-api-key': await installation.apiKey() };
    const serve = async () => {
      const customer = { phone: installation.phone(), headers };
      while (left-- > 0) await sellAndGiveBack(customer, () => random.next());
    };
    await Promise.all(Array.from({ length: AT_ONCE }, serve));
    await eventually(async () => {
      await letAllDoubtsPass(installation.database);
      for (const hurry of [CONFIRM_NOW, EXPIRE_NOW, EXPIRY_JOBS_NOW]) await installation.database.query(hurry);
      expect((await installation.database.query(OPEN)).rowCount).toBe(0);
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
