import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DatabaseRelay, LISTENING } from '../../support/database-relay.ts';
import { eventually } from '../../support/eventually.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type StartedGateway, untilSignedOn } from '../../support/installation.ts';
import { CrashSite } from './crash-site.ts';

const PHONES = 6;

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
    const withoutResponse = installation
      .phoneAt(doomed.url)
      .submit(sealed)
      .catch(() => undefined);
    await cut;
    await doomed.kill('SIGKILL');
    await withoutResponse;
    // Its transaction is open in Postgres: the server does not know of its end.
    await site.tapDuring(survivor.url, PHONES, async () => {
      await eventually(async () => expect(await lockedRows()).toBe(0));
    });
    await site.comesToRest(survivor.url);
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
    await site.comesToRest(api.url);
  });
});
