import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Availability } from '../../src/console/feed.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { MUST_NOT_REST } from '../../src/payments/model/status.ts';
import type { Phone } from '../../src/tools/phone/phone.ts';
import { DatabaseRelay } from '../support/database-relay.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { PASSWORD, savePortalUser } from '../support/portal-users.ts';
import { Relay } from '../support/relay.ts';
import { request } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { jobsOf, storedTransaction, storedTransactions, trailOf, untilStatus } from '../support/transactions.ts';

let installation: Installation;
let line: DatabaseRelay;
let switchLine: Relay;
beforeAll(async () => {
  const connectTo = async (switchPort: number) => {
    switchLine = await Relay.open(switchPort);
    return switchLine.port;
  };
  installation = await startInstallation({ role: 'none', connectTo });
  line = await DatabaseRelay.open(installation.environment().DATABASE_URL!);
  await installation.startGateway({ DATABASE_URL: line.url });
  // Reserves the numbers of the terminal, so that the next commit is that of a tap.
  outcomeOf(await installation.phone().tap(TAP));
});
afterAll(async () => {
  await installation.stop();
  await line.close();
  await switchLine.close();
});

const TAP = { amount: '10.00', currency: 'ZAR' } as const;

/** Every tap has come to rest: the next COMMIT belongs to the next tap. */
async function untilQuiet(): Promise<void> {
  await eventually(async () => {
    const { rows } = await installation.database.query('select from transactions where status = any($1)', [
      MUST_NOT_REST,
    ]);
    expect(rows).toEqual([]);
  });
}

async function newest() {
  return (await storedTransactions(installation.database)).at(-1)!;
}

test('a tap while the database is unavailable is 503, neither stored nor sent, and the gateway keeps running', async () => {
  const phone = installation.phone();
  const sealed = await phone.seal(TAP);
  const apiKey = await installation.apiKey();
  await untilQuiet();
  const before = { asked: installation.asked, rows: await storedTransactions(installation.database) };
  await line.goAway();
  expect(problemOf(await phone.submit(sealed))).toMatchObject({ status: 503, errorCode: 201 });
  const list = await request(installation.url, '/transactions', { headers: { 'x-api-key': apiKey } });
  expect(problemOf(list)).toMatchObject({ status: 503, errorCode: 201 });
  expect(list.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await request(installation.url, '/livez')).status).toBe(200);
  await eventually(async () => {
    const ready = await request(installation.url, '/readyz');
    expect(ready).toMatchObject({ status: 503, body: { status: 'unready', database: 'down' } });
  });
  expect(installation.asked).toEqual(before.asked);
  expect(await storedTransactions(installation.database)).toEqual(before.rows);

  await line.comeBack();
  await eventually(async () => expect((await request(installation.url, '/readyz')).status).toBe(200));
  expect(outcomeOf(await phone.submit(sealed)).type).toBe('Approved');
});

test('the console paints while the database is unavailable, states since when, and its login is 503 like that of the API', async () => {
  const { username } = await savePortalUser(installation.database, { acquirerId: 1 }, 'viewer');
  const body = JSON.stringify({ username, password: PASSWORD });
  const headers = { 'content-type': 'application/json' };
  await line.goAway();
  const goneAtMs = Date.now();
  expect((await fetch(new URL('/ops', installation.url))).status).toBe(200);
  for (const path of ['/login', '/ops/session']) {
    const response = await request(installation.url, path, { method: 'POST', headers, body });
    expect(problemOf(response), path).toMatchObject({ status: 503, errorCode: 201 });
  }
  const down = await eventually(async () => {
    const { body: availability } = await request(installation.url, '/ops/availability');
    expect(availability).toMatchObject({ database: 'down' });
    return availability as Availability;
  });
  expect(down.downSinceMs).toBeLessThanOrEqual(goneAtMs);

  await line.comeBack();
  await eventually(async () => {
    const { body: availability } = await request(installation.url, '/ops/availability');
    expect(availability).toMatchObject({ database: 'up', downSinceMs: null });
  });
});

test('the response to the COMMIT of a submission is lost: nothing is sent, the phone is asked to repeat, the job decides', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const sealed = await phone.seal(TAP);
  await untilQuiet();
  const sent = switchLine.count('0200');
  line.loseNextCommit('insert-taps');
  expect(problemOf(await phone.submit(sealed))).toMatchObject({ status: 500, errorCode: 201 });
  expect(line.lostCommits).toBe(1);
  const { id, status } = await newest();
  expect(status).toBe('SubmittedToPaymentProcessor');
  expect((await jobsOf(database, id)).map(({ queue }) => queue)).toEqual(['overdue']);
  // The phone repeats its request before the outcome is known: it waits for the decision of the job.
  expect(outcomeOf(await phone.submit(sealed))).toMatchObject({ type: 'Indeterminate', serviceReference: id });
  expect(switchLine.count('0200')).toBe(sent);
  await untilStatus(database, id, 'RespondedToPhone');
});

test('the response to the COMMIT of an outcome is lost: the phone is asked to repeat, and then gets what was stored', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const sealed = await phone.seal(TAP);
  await untilQuiet();
  switchLine.onRequest = () => line.loseNextCommit('commit-decisions');
  const problem = problemOf(await phone.submit(sealed));
  switchLine.onRequest = () => {};
  expect(problem).toMatchObject({ status: 500, errorCode: 201 });
  const response = outcomeOf(await phone.submit(sealed));
  expect(response.type).toBe('Approved');
  await untilStatus(database, response.serviceReference, 'RespondedToPhone');
  await expectInvariants(installation, { areFaultsExpected: true });
});

test('the database becomes unavailable while the switch processes a tap: its approval is reversed when the database is back', async () => {
  const { database } = installation;
  const phone = installation.phone();
  const sealed = await phone.seal(TAP);
  await untilQuiet();
  switchLine.onRequest = () => line.goAway();
  const problem = problemOf(await phone.submit(sealed));
  switchLine.onRequest = () => {};
  expect(problem).toMatchObject({ status: 500, errorCode: 201 });
  const { id } = await newest();
  await line.comeBack();
  await eventually(async () =>
    expect(await storedTransaction(database, id)).toMatchObject({ disposition: Disposition.Indeterminate }),
  );
  expect(await trailOf(database, id)).toContain('NoResponseFromPaymentProcessor');
  await eventually(async () => {
    expect((await jobsOf(database, id)).map(({ queue }) => queue)).toContain('reverse');
  });
  await expectInvariants(installation, { areFaultsExpected: true });
});

test('the text of a refusal is true of a tap that an earlier request has stored', async () => {
  const phone = installation.phone();
  const sealed = await phone.seal(TAP);
  expect(outcomeOf(await phone.submit(sealed)).type).toBe('Approved');
  await untilQuiet();
  await line.goAway();
  const problem = problemOf(await phone.submit(sealed));
  await line.comeBack();
  expect(problem).toMatchObject({ status: 503, errorCode: 201 });
  expect(problem.detail).toContain('if an earlier one was stored, you get its response');
  expect(problem.detail).not.toMatch(/(^|[^a-z])nothing was stored/);
  await eventually(async () => expect(outcomeOf(await phone.submit(sealed)).type).toBe('Approved'));
});

describe('connections that go silent', () => {
  async function untilApproved(): Promise<void> {
    await eventually(async () => expect(outcomeOf(await installation.phone().tap(TAP)).type).toBe('Approved'));
  }

  /** An outcome, or a problem from which a phone knows what to do. */
  const isResponse = ({ status, body }: Awaited<ReturnType<Phone['submit']>>) =>
    status === 200 || ([500, 503].includes(status) && (body as { errorCode?: number }).errorCode === 201);

  test('all at once, under taps: each tap receives a response, and a tap seconds later is approved', async () => {
    const taps = Array.from({ length: 20 }, () => installation.phone().tap(TAP));
    await eventually(() => expect(line.silence()).toBeGreaterThan(0));
    const responses = await Promise.all(taps);
    expect(responses.filter((response) => !isResponse(response))).toEqual([]);
    await untilApproved();
    await untilQuiet();
    await expectInvariants(installation, { areFaultsExpected: true });
  });

  test('together with their host: taps are refused, the process is alive and not ready, until the host is replaced', async () => {
    line.goSilent();
    const [tap] = await Promise.all([
      installation.phone().tap(TAP),
      eventually(async () => {
        const ready = await request(installation.url, '/readyz');
        expect(ready).toMatchObject({ status: 503, body: { status: 'unready', database: 'down' } });
      }),
    ]);
    expect(tap).toSatisfy(isResponse);
    expect((await request(installation.url, '/livez')).status).toBe(200);
    line.speak();
    await untilApproved();
    await eventually(async () => expect((await request(installation.url, '/readyz')).status).toBe(200));
    await untilQuiet();
    await expectInvariants(installation, { areFaultsExpected: true });
  });
});

describe('a server that refuses statements', () => {
  const CONDITIONS = ['53100', '53200', '57014', '40001', '55P03', '25006', '58030'];

  /** Makes every statement that writes a transaction fail with this code, until the test ends. */
  async function refuse(code: string): Promise<void> {
    await installation.database.query(`
      create or replace function refuse() returns trigger language plpgsql as
        $$ begin raise exception 'refused' using errcode = '${code}'; end $$;
      create or replace trigger refuse before insert or update on transactions execute function refuse()`);
  }

  test.each(CONDITIONS)('%s is 503 as long as it lasts', async (code) => {
    const phone = installation.phone();
    const sealed = await phone.seal(TAP);
    await untilQuiet();
    await refuse(code);
    const refused = await phone.submit(sealed);
    await installation.database.query('drop trigger refuse on transactions');
    expect(problemOf(refused)).toMatchObject({ status: 503, errorCode: 201 });
    expect(outcomeOf(await phone.submit(sealed)).type).toBe('Approved');
  });

  test('a bug in a statement is still 500', async () => {
    const phone = installation.phone();
    const sealed = await phone.seal(TAP);
    await untilQuiet();
    await refuse('42703');
    const refused = problemOf(await phone.submit(sealed));
    await installation.database.query('drop trigger refuse on transactions');
    expect(refused).toMatchObject({ status: 500, errorCode: 203 });
  });
});
