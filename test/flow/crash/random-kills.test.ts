import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seededRandom } from '../../../src/tools/simulator/faults.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { CrashSite } from './crash-site.ts';
import { startDoomed } from './doomed-gateway.ts';

/** `npm run crash -- --rounds 50` sets it; one round is enough for every commit. */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 1);
const SEED = Number(process.env.CRASH_SEED ?? 1);
const LONGEST_LIFE_MS = 2_500;
const PHONES = 4;
const AMOUNTS = ['10.00', '11.00', '12.00', '10.51', '10.69', '10.68', '10.10', '10.97', '10.87'];
const TIMEOUT_MS = 600_000 + ROUNDS * 60_000;

let site: CrashSite;
beforeAll(async () => {
  site = await CrashSite.open();
});
afterAll(() => site.close());

test(
  `gateways killed at ${ROUNDS} random moments under load lose nothing`,
  async () => {
    const random = seededRandom(SEED);
    for (let round = 1; round <= ROUNDS; round++) {
      const { process, isUp } = await startDoomed(site.installation);
      expect(isUp, process.output).toBe(true);
      let isOver = false;
      const phones = Array.from({ length: PHONES }, async () => {
        while (!isOver) await site.tap(process.url, [AMOUNTS[Math.floor(random.next() * AMOUNTS.length)]!]);
      });
      await sleep(random.next() * LONGEST_LIFE_MS); // the time of the fault itself
      isOver = true;
      await process.kill('SIGKILL');
      await Promise.all(phones);
      await expectSoundStates(site.installation.database);
      await site.letClaimsLapse();
    }
    const gateway = await site.installation.startGateway();
    await site.untilQuiet();
    await site.expectNothingLost(gateway.url);
    site.expectTimelyResponses();
  },
  TIMEOUT_MS,
);
