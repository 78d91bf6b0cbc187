import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { FailpointName } from '../../../src/observe/failpoints.ts';
import { eventually } from '../../support/eventually.ts';
import type { StartedGateway } from '../../support/installation.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import type { CrashSite } from './crash-site.ts';
import { startDoomed } from './doomed-gateway.ts';

/** A mix: an approval, a decline, silence, a late approval, a response that takes half a second. */
const TRAFFIC = ['10.00', '11.00', '10.51', '10.69', '10.68', '10.10'];
/** The interval between two mixes, while a gateway has not reached its moment yet. */
const AGAIN_MS = 500;

/**
 * Each gateway ends itself at the named moment, under traffic, and the next one finds what it left. Some reach their
 * moment through that work alone.
 */
const MOMENTS: readonly (readonly [FailpointName, string])[] = [
  ['before-submit-commit', 'before the commit that the bytes wait for'],
  ['after-submit-commit', 'after that commit, before the bytes'],
  ['after-write', 'when the bytes have left'],
  ['after-response', 'when the response has arrived, before it is committed'],
  ['after-outcome-commit', 'when the outcome is committed, before the phone has its response'],
  ['after-reversal-commit', 'when a reversal is committed as sent, before its bytes'],
  ['after-reversal-write', 'when the bytes of a reversal have left'],
  ['after-reversal-response', 'when a reversal is acknowledged, before that is committed'],
  ['after-reversal-outcome', 'when that is committed, before anything follows from it'],
  ['before-webhook', 'before a webhook is sent'],
  ['after-webhook', 'when the receiver has responded, before that is committed'],
  ['after-overdue-commit', 'when an overdue attempt was decided'],
];

/** How the processes of a site share the work. */
export interface Roles {
  /** The gateway that is killed. */
  readonly doomed: 'all' | 'worker';
  /** The gateway that phones use while it runs; undefined: the doomed one. */
  readonly front: () => StartedGateway | undefined;
}

/** Declares the tests: a kill at each moment, and a comparison of all books at the end. */
export function testMoments(site: () => CrashSite, { doomed, front }: Roles): void {
  /** Responses that phones still wait for: with an api process, the next worker decides them. */
  const underWay: Promise<unknown>[] = [];

  async function killAt(moment: FailpointName): Promise<void> {
    const { installation } = site();
    const gateway = await startDoomed(installation, `${moment}:kill`, doomed);
    let hasEnded = false;
    const ended = gateway.process.end().finally(() => {
      hasEnded = true;
    });
    while (gateway.isUp && !hasEnded) {
      underWay.push(site().tap(front()?.url ?? gateway.process.url, TRAFFIC));
      await Promise.race([ended, sleep(AGAIN_MS)]);
    }
    expect((await ended).exitCode, gateway.process.output).toBeNull(); // ended through its own signal
  }

  test.each(
    MOMENTS,
  )('%s: a gateway killed %s leaves every transaction with a job that will move it on', async (moment) => {
    // The job decides only for an orphan: a running gateway decides its own taps first.
    if (moment === 'after-overdue-commit') await killAt('after-write');
    await killAt(moment);
    await expectSoundStates(site().installation.database);
    await site().letClaimsLapse();
  });

  test('all books agree after the last kill: nothing is lost, nothing taken twice, and every outcome was reported', async () => {
    const gateway = await site().installation.startGateway({ TAPWIRE_ROLE: doomed });
    await Promise.all(underWay);
    const { url } = front() ?? gateway;
    await site().untilApproved(url);
    const usual = ['Approved', 'Approved', 'Declined', 'Indeterminate', 'Indeterminate', 'Approved'];
    // On a busy machine, a tap can pass its deadline before a worker takes it.
    await eventually(async () => expect(await site().tap(url, TRAFFIC)).toEqual(usual));
    await site().untilQuiet();
    await site().expectNothingLost(url);
    site().expectTimelyResponses();
  });
}
