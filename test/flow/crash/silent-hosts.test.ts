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

test('the host of the database vanishes, and is replaced: taps are refused meanwhile, and approved again', async () => {
  await site.tapDuring(gateway.url, PHONES, async () => {
    relay.goSilent();
    await eventually(async () => {
      const ready = await fetch(new URL('/readyz', gateway.url));
      expect(ready.status).toBe(503);
    });
    expect((await fetch(new URL('/livez', gateway.url))).status).toBe(200);
    await sleep(AFTERWARDS_MS);
    relay.speak();
    await sleep(FAULT_MS);
  });
  await comesToRest();
});

test('Postgres freezes permanently and is restarted: nothing is lost', async () => {
  await site.tapDuring(gateway.url, PHONES, async () => {
    postgres.freeze();
    await sleep(AFTERWARDS_MS);
    await postgres.kill();
    await postgres.startAgain();
    await sleep(FAULT_MS);
  });
  await comesToRest();
});
