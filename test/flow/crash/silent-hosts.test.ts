import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { DatabaseRelay, LISTENING } from '../../support/database-relay.ts';
import { eventually } from '../../support/eventually.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type StartedGateway, untilSignedOn } from '../../support/installation.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { CrashSite } from './crash-site.ts';
import { OwnPostgres } from './own-postgres.ts';

/** How long traffic continues during a fault and after it. */
const FAULT_MS = 3_000;
const AFTERWARDS_MS = 12_000;
const PHONES = 6;

/** Hosts that vanish close no connection: no peer is notified, and packets are dropped. */
describe('with all roles in one process', () => {
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
    await site.untilApproved(gateway.url);
    await eventually(() => untilSignedOn(gateway.url));
    site.expectTimelyAnswers();
    await expectSoundStates(site.installation.database);
    await site.letClaimsLapse();
    await site.untilQuiet();
    await site.expectNothingLost(gateway.url);
  }

  test.each([
    ['all connections to the database go silent', () => true],
    ['every other connection to the database goes silent', everyOther()],
  ])('%s under taps: new ones take over, and nothing is lost', async (_what, isChosen) => {
    await site.tapDuring(gateway.url, PHONES, async () => {
      await sleep(FAULT_MS); // traffic
      expect(relay.silence(isChosen)).toBeGreaterThan(0);
      await sleep(AFTERWARDS_MS); // longer than any limit in the processing of a tap
    });
    await comesToRest();
  });

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
});

describe('two gateways', () => {
  let site: CrashSite;
  let relay: DatabaseRelay;
  let survivor: StartedGateway;
  beforeAll(async () => {
    site = await CrashSite.open();
    relay = await DatabaseRelay.open(site.installation.environment().DATABASE_URL!);
    survivor = await site.installation.startGateway();
  });
  afterAll(async () => {
    await site.close();
    await relay.close();
  });

  test('the host of one loses power within a commit: the other waits seconds for its locks, and nothing is lost', async () => {
    const { installation } = site;
    const doomed = await GatewayProcess.start(installation, 'all', { DATABASE_URL: relay.url });
    await eventually(() => untilSignedOn(doomed.url));
    const sealed = await installation.phone().seal({ amount: '10.00', currency: 'ZAR' });
    await site.untilApproved(doomed.url);
    const cut = relay.silenceAtCommit();
    const unanswered = installation
      .phoneAt(doomed.url)
      .submit(sealed)
      .catch(() => undefined);
    await cut;
    await doomed.kill('SIGKILL');
    await unanswered;
    // Its transaction is open in Postgres: the server does not know of its end.
    await site.tapDuring(survivor.url, PHONES, async () => {
      await eventually(async () => expect(await lockedRows()).toBe(0));
    });
    await site.untilApproved(survivor.url);
    site.expectTimelyAnswers();
    await site.letClaimsLapse();
    await site.untilQuiet();
    await site.expectNothingLost(survivor.url);
  });

  /** Idle sessions in a transaction. */
  async function lockedRows(): Promise<number> {
    const { rows } = await site.installation.database.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%' and state_change < now() - interval '1 s'`,
    );
    return rows[0]!.count;
  }
});

describe('an api process and a worker', () => {
  let site: CrashSite;
  let relay: DatabaseRelay;
  let api: StartedGateway;
  beforeAll(async () => {
    site = await CrashSite.open();
    relay = await DatabaseRelay.open(site.installation.environment().DATABASE_URL!);
    await site.installation.startGateway({ TAPWIRE_ROLE: 'worker', DATABASE_URL: relay.url });
    api = await site.installation.startGateway({ TAPWIRE_ROLE: 'api', DATABASE_URL: relay.url });
  });
  afterAll(async () => {
    await site.close();
    await relay.close();
  });

  test.each([
    ['the connections that listen go silent', LISTENING],
    ['all connections go silent', () => true],
  ])('%s: outcomes are found by polling, and the connections are replaced', async (_what, isChosen) => {
    await site.untilApproved(api.url);
    await site.tapDuring(api.url, PHONES, async () => {
      expect(relay.silence(isChosen)).toBeGreaterThan(0);
      await eventually(() => expect(relay.count(LISTENING)).toBe(2));
    });
    await site.untilApproved(api.url);
    site.expectTimelyAnswers();
    await site.letClaimsLapse();
    await site.untilQuiet();
    await site.expectNothingLost(api.url);
  });
});

function everyOther(): () => boolean {
  let count = 0;
  return () => count++ % 2 === 0;
}
