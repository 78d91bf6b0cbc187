import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { StartedGateway } from '../../support/installation.ts';
import { CrashSite } from './crash-site.ts';
import { OwnPostgres } from './own-postgres.ts';
import { SmallVolume } from './small-volume.ts';

/** Long enough for reversals to be due while nothing can be written. */
const FULL_MS = 15_000;
const PHONES = 6;
/** Silence and late approvals: taps that require a reversal. */
const UNCERTAIN = ['10.51', '10.69', '10.68', '10.51', '10.69'];

const volume = SmallVolume.open();
let postgres: OwnPostgres;
let site: CrashSite;
let gateway: StartedGateway;
beforeAll(async () => {
  if (!volume) return;
  postgres = await OwnPostgres.start(volume.path);
  site = await CrashSite.open({ onDatabase: postgres.database });
  gateway = await site.installation.startGateway();
});
afterAll(async () => {
  await site?.close();
  volume?.close();
});

test('a full disk: taps are refused, they are approved again after it is freed, and everything comes to rest', async (context) => {
  if (!volume) return context.skip('no volume can be mounted here: that needs root');
  await site.tapDuring(gateway.url, PHONES, async () => {
    const uncertain = site.tap(gateway.url, UNCERTAIN);
    await eventually(() => expect(site.installation.asked.authorizations).toBeGreaterThan(UNCERTAIN.length));
    volume.fill();
    await sleep(FULL_MS);
    volume.free();
    await postgres.startAgain(); // the server stops if the write-ahead log cannot be written
    await uncertain;
  });
  await site.untilApproved(gateway.url);
  site.expectTimelyResponses();
  await site.letClaimsLapse();
  await site.untilQuiet();
  await site.expectNothingLost(gateway.url);
});
