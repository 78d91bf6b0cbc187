import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { DatabaseRelay } from '../../support/database-relay.ts';
import { eventually } from '../../support/eventually.ts';
import { type StartedGateway, untilSignedOn } from '../../support/installation.ts';
import { CrashSite } from './crash-site.ts';
import { OwnPostgres } from './own-postgres.ts';

/** How long traffic continues before a fault, and after it. */
const FAULT_MS = 3_000;
/** Longer than any limit in the processing of a tap. */
const AFTERWARDS_MS = 12_000;
const PHONES = 6;

/** Hosts that vanish close no connection: no peer is notified, and packets are dropped. */
let postgres: OwnPostgres;
let site: CrashSite;
let relay: DatabaseRelay;
let gateway: StartedGateway;
beforeAll(async () => {
  postgres = await OwnPostgres.start();
  site = await CrashSite.open({ onDatabase: postgres.database });
  relay = await DatabaseRelay.open(postgres.database.url);
  gateway = await site.installation.startGateway({ DATABASE_URL: relay.url });
});
afterEach(() => relay.speak());
afterAll(async () => {
  await site.close();
  await relay.close();
});

async function comesToRest(): Promise<void> {
  await eventually(() => untilSignedOn(gateway.url));
  await site.comesToRest(gateway.url);
}

test.each([
  ['all connections to the database go silent', () => true],
  ['every other connection to the database goes silent', everyOther()],
])('%s under taps: new ones take over, and nothing is lost', async (_what, isChosen) => {
  await site.tapDuring(gateway.url, PHONES, async () => {
    await sleep(FAULT_MS); // traffic
    expect(relay.silence(isChosen)).toBeGreaterThan(0);
    await sleep(AFTERWARDS_MS);
  });
  await comesToRest();
});

function everyOther(): () => boolean {
  let count = 0;
  return () => count++ % 2 === 0;
}
