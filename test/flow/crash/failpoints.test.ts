import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FailpointName } from '../../../src/ops/failpoints.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { CrashSite, PATIENT_MS } from './crash-site.ts';
import { startDoomed } from './doomed-gateway.ts';

let site: CrashSite;
beforeAll(async () => {
  site = await CrashSite.open();
});
afterAll(() => site.close());

/** A little of everything: an approval, a decline, silence, a late approval, an answer that takes half a second. */
const TRAFFIC = ['10.00', '11.00', '10.51', '10.69', '10.68', '10.10'];

/**
 * Each gateway ends itself where it says, under traffic, and the next one finds what it left behind: some come to their
 * moment by that alone.
 */
const MOMENTS: readonly (readonly [FailpointName, string])[] = [
  ['before-submit-commit', 'before the commit that the bytes wait for'],
  ['after-submit-commit', 'after that commit, before the bytes'],
  ['after-write', 'when the bytes have left'],
  ['after-response', 'when the answer is there, before it is committed'],
  ['after-outcome-commit', 'when the outcome is committed, before the phone has its answer'],
  ['after-reversal-commit', 'when a reversal is committed as sent, before its bytes'],
  ['after-reversal-write', 'when the bytes of a reversal have left'],
  ['after-reversal-response', 'when a reversal is acknowledged, before that is committed'],
  ['after-reversal-outcome', 'when that is committed, before anything follows from it'],
  ['before-webhook', 'before a webhook is sent'],
  ['after-webhook', 'when the receiver has answered, before that is committed'],
  ['after-overdue-commit', 'when a deadline was decided by its job'],
];

test.each(
  MOMENTS,
)('%s: a gateway killed %s leaves every transaction with a job that will move it on', async (moment) => {
  // Only of an orphan does the job decide: a gateway that lives decides its own taps first.
  if (moment === 'after-overdue-commit') await leaveOrphan();
  const gateway = await startDoomed(site.installation, `${moment}:kill`);
  if (gateway.isUp) await site.tap(gateway.process.url, TRAFFIC);
  expect((await gateway.process.end()).exitCode, gateway.process.output).toBeNull(); // by its own signal
  await expectSoundStates(site.installation.database);
  await site.letClaimsLapse();
});

async function leaveOrphan(): Promise<void> {
  const gateway = await startDoomed(site.installation, 'after-write:kill');
  if (gateway.isUp) await site.tap(gateway.process.url, TRAFFIC);
  await gateway.process.end();
}

test(
  'after the last one the books of all agree: nothing is lost, nothing taken twice, everyone was told',
  async () => {
    const gateway = await site.installation.startGateway();
    expect(await site.tap(gateway.url, TRAFFIC)).toEqual([
      'Approved',
      'Approved',
      'Declined',
      'Indeterminate',
      'Indeterminate',
      'Approved',
    ]);
    await site.untilQuiet();
    await site.expectNothingLost(gateway.url);
  },
  PATIENT_MS,
);
