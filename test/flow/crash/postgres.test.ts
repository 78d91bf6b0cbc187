import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { StartedGateway } from '../../support/installation.ts';
import { problemOf } from '../../support/responses.ts';
import { CrashSite } from './crash-site.ts';
import { OwnPostgres } from './own-postgres.ts';

let postgres: OwnPostgres;
let site: CrashSite;
let gateway: StartedGateway;
beforeAll(async () => {
  postgres = await OwnPostgres.start();
  site = await CrashSite.open({ onDatabase: postgres.database });
  gateway = await site.installation.startGateway();
});
afterAll(() => site.close());

/**
 * One receives a response after half a second, one never, one late: the switch has them when the database becomes
 * unavailable.
 */
const UNDER_WAY = ['10.00', '10.10', '10.10', '10.69', '10.68'];
const FROZEN_MS = 5_000;

test.each([
  'fast',
  'immediate',
] as const)('Postgres stopped %s: taps are 503 before anything is sent, service resumes automatically, and nothing is lost', async (how) => {
  const { installation } = site;
  const sealed = await installation.phone().seal({ amount: '12.00', currency: 'ZAR' });
  const underWay = site.tap(gateway.url, UNDER_WAY);
  const { authorizations } = installation.asked;
  await eventually(() => expect(installation.asked.authorizations).toBe(authorizations + UNDER_WAY.length));
  await postgres.stop(how);
  const before = installation.asked.authorizations;
  expect(problemOf(await installation.phone().submit(sealed))).toMatchObject({ status: 503, errorCode: 201 });
  expect(installation.asked.authorizations).toBe(before);
  await underWay;
  await postgres.startAgain();
  await site.untilApproved(gateway.url);
  await site.letClaimsLapse();
  await site.untilQuiet();
  await site.expectNothingLost(gateway.url);
  site.expectTimelyResponses();
});

test('Postgres frozen for five seconds: waiting work continues or is refused, and nothing is lost', async () => {
  const { installation } = site;
  const underWay = site.tap(gateway.url, UNDER_WAY);
  const { authorizations } = installation.asked;
  await eventually(() => expect(installation.asked.authorizations).toBeGreaterThan(authorizations));
  postgres.freeze();
  const whileFrozen = site.tap(gateway.url, ['10.00', '11.00']);
  await sleep(FROZEN_MS); // the duration of the fault itself
  postgres.thaw();
  await Promise.all([underWay, whileFrozen]);
  await site.untilApproved(gateway.url);
  await site.letClaimsLapse();
  await site.untilQuiet();
  await site.expectNothingLost(gateway.url);
  site.expectTimelyResponses();
});
