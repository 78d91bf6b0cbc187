import { afterEach, describe, expect, test } from 'vitest';
import type { StoredProcessor } from '../../schemas/admin-routing.ts';
import type { Problem } from '../../schemas/problem.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { saveApiKey } from '../support/api-keys.ts';
import { eventually } from '../support/eventually.ts';
import { refundSale, sellApproved, voidSale } from '../support/refunds.ts';
import { request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { scriptedInstallation, withCode } from '../support/scripted-installation.ts';
import { ScriptedSwitch } from '../support/scripted-switch.ts';
import { letDoubtPass, storedTransactions } from '../support/transactions.ts';

/** No request of a test reaches its deadline. */
const LONG_MS = 100_000;
const REVERSALS = ['0400', '0401', '0420', '0421'];

const scene = scriptedInstallation();
/** Where the processor leads after a change. It has never seen a tap of the scripted switch. */
let other: ScriptedSwitch;
let key: string;

async function install(deadlineMs = 1_000): Promise<void> {
  await scene.installOwn({ profile: { deadlineMs } });
  other = await ScriptedSwitch.open();
  key = await saveApiKey(scene.installation.database, { acquirerId: 1 }, ['processors:manage']);
}
afterEach(() => other.close());

async function admin<Body>(method: string, path: string, body?: object): Promise<{ status: number; body: Body }> {
  const response = await request(scene.installation.url, `/acquirers/1/${path}`, {
    method,
    headers: { 'x-api-key': key, 'content-type': body && 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  return response as { status: number; body: Body };
}

/** Changes settings of the only processor. */
async function change(differences: object, statement: { isSameSwitch?: boolean } = {}) {
  const { body } = await admin<StoredProcessor>('GET', 'processors/1');
  const { type, config } = body;
  return admin<StoredProcessor & Problem>('PUT', 'processors/1', {
    ...{ type, config: { ...config, ...differences } },
    ...statement,
  });
}

const at = ({ port }: ScriptedSwitch) => ({ addresses: [{ host: '127.0.0.1', port }] });

/** Waits until the gateway is signed on to the other switch. */
const untilThere = () => eventually(() => expect(other.signOns.length).toBeGreaterThan(0));

const reversalsAt = (scripted: ScriptedSwitch) => REVERSALS.flatMap((mti) => scripted.of(mti)).length;

const REFUSED = { status: 409, body: { detail: expect.stringContaining('isSameSwitch') } };

describe('what identifies a switch', () => {
  test('cannot change while a reversal is open, unless it is stated to be the same switch', async () => {
    await install();
    scene.scripted.hold('0200', ...REVERSALS);
    const { id } = await scene.tapInVain();
    await scene.untilReversal(id, 'sent');
    for (const differences of [at(other), { acquirerId: '50009' }, { tls: { serverName: 'switch.example' } }]) {
      expect(await change(differences)).toMatchObject(REFUSED);
    }
    // How the switch is used does not identify it.
    const profile = { deadlineMs: 1_500, overtakingGuardSeconds: 0 };
    expect(await change({ connectionsPerAddress: 2, profile })).toMatchObject({
      status: 200,
      body: { switchRevision: 0, sameSwitchSince: 0 },
    });
    expect(await change(at(other), { isSameSwitch: true })).toMatchObject({
      status: 200,
      body: { switchRevision: 1, sameSwitchSince: 0 },
    });
    const { rows } = await scene.installation.database.query<{ after: object }>(
      `select after from admin_events where kind = 'processor' order by id desc limit 1`,
    );
    expect(rows[0]!.after).toMatchObject({ isSameSwitch: true, switchRevision: 1 });
  });

  test('cannot change while a tap is in progress, a void or a refund is open', async () => {
    await install(LONG_MS);
    const [sale, returned] = [
      await sellApproved(scene.installation, '10.00'),
      await sellApproved(scene.installation, '11.00'),
    ];
    scene.scripted.forget();
    scene.scripted.hold('0200', ...REVERSALS);
    const tap = scene.installation.phone().tap({ amount: '12.00', currency: 'ZAR' });
    const held = await scene.scripted.next('0200');
    expect(await change(at(other))).toMatchObject(REFUSED);
    held.respond();
    expect(outcomeOf(await tap).type).toBe('Approved');

    expect((await voidSale(scene.installation, sale)).status).toBe(202);
    expect(await change(at(other))).toMatchObject(REFUSED);
    await eventually(() =>
      REVERSALS.map((mti) => scene.scripted.of(mti)[0])
        .find((each) => each)!
        .respond(),
    );
    await scene.untilReversal(sale, 'acknowledged');

    const refund = refundSale(scene.installation, returned, { amount: '11.00', refundReference: 'returned' });
    const asked = await scene.scripted.next('0200');
    expect(await change(at(other))).toMatchObject(REFUSED);
    asked.respond();
    expect((await refund).status).toBe(200);
    await eventually(async () => expect((await change(at(other))).status).toBe(200));
  });

  test('may lose an address or a spare key at any time, and may change when nothing is open', async () => {
    await install();
    const [first, second] = [at(scene.scripted).addresses, at(other).addresses];
    const both = { addresses: [...first, ...second] };
    expect(await change(both)).toMatchObject({ status: 200, body: { switchRevision: 1, sameSwitchSince: 1 } });
    expect(await change(at(other))).toMatchObject({ status: 200, body: { switchRevision: 1, sameSwitchSince: 1 } });
  });
});

describe('a switch that was stated to be the same, and cannot locate an original', () => {
  test.each(['25', '21'])('does not acknowledge its reversal with %s: it needs review', async (code) => {
    await install();
    scene.scripted.hold('0200', ...REVERSALS);
    const { id } = await scene.tapInVain();
    await scene.untilReversal(id, 'sent', 1);
    other.onRequest = (asked) => asked.respond(withCode(code));
    expect((await change(at(other), { isSameSwitch: true })).status).toBe(200);
    await untilThere();
    await eventually(async () => {
      await scene.letTimePass(id, 60);
      expect(reversalsAt(other)).toBeGreaterThan(0);
    });
    const { disposition, needsReview } = await scene.untilReversal(id, 'needsReview');
    expect({ disposition, needsReview }).toEqual({ disposition: Disposition.Indeterminate, needsReview: true });
    await scene.untilAtRest(id);
    expect(reversalsAt(other)).toBe(1);
  });

  test('leaves a void in review as well', async () => {
    await install();
    const id = await sellApproved(scene.installation, '10.00');
    expect((await change(at(other), { isSameSwitch: true })).status).toBe(200);
    other.onRequest = (asked) => asked.respond(withCode('25'));
    await untilThere();
    await eventually(async () => {
      const { status } = await voidSale(scene.installation, id);
      expect([202, 200]).toContain(status);
    });
    await scene.untilReversal(id, 'needsReview');
    await scene.untilAtRest(id);
  });

  test('acknowledges it with 00', async () => {
    await install();
    scene.scripted.hold('0200', ...REVERSALS);
    const { id } = await scene.tapInVain();
    await scene.untilReversal(id, 'sent', 1);
    expect((await change(at(other), { isSameSwitch: true })).status).toBe(200);
    await untilThere();
    await eventually(async () => {
      await scene.letTimePass(id, 60);
      expect(reversalsAt(other)).toBeGreaterThan(0);
    });
    await letDoubtPass(scene.installation.database, id).catch(() => {});
    await scene.untilReversal(id, 'acknowledged');
  });
});

test('a tap that is committed while the change commits is never reversed at the other switch', async () => {
  await install();
  scene.scripted.hold('0200', ...REVERSALS);
  // The change has found nothing open, and waits with its commit for a lock.
  const client = await scene.installation.database.connect();
  await client.query('begin; lock table admin_events in share mode');
  const changed = change(at(other));
  await eventually(async () => {
    const { rowCount } = await client.query(
      "select from pg_locks where not granted and relation = 'admin_events'::regclass",
    );
    expect(rowCount).toBe(1);
  });
  const response = outcomeOf(await scene.installation.phone().tap({ amount: '10.00', currency: 'ZAR' }));
  expect(scene.scripted.of('0200')).toHaveLength(1);
  await client.query('commit');
  client.release();
  expect(await changed).toMatchObject({ status: 200, body: { switchRevision: 1, sameSwitchSince: 1 } });
  const id = response.serviceReference;
  await untilThere();
  await eventually(async () => {
    await scene.letTimePass(id, 60);
    expect((await scene.stored(id)).reversalState).toBe(ReversalState.needsReview);
  });
  await scene.untilAtRest(id);
  expect(other.requests).toEqual([]);
  const [stored] = await storedTransactions(scene.installation.database);
  expect(stored).toMatchObject({ disposition: Disposition.Indeterminate, needsReview: true });
});

test('a sale at the former switch of a processor is neither voided nor refunded, and the change says how many there are', async () => {
  await install();
  const sales = [await sellApproved(scene.installation, '10.00'), await sellApproved(scene.installation, '11.00')];
  const moved = await eventually(async () => {
    const { body } = await admin<StoredProcessor>('GET', 'processors/1');
    const response = await request(scene.installation.url, '/acquirers/1/processors/1', {
      method: 'PUT',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ type: body.type, config: { ...body.config, ...at(other) } }),
    });
    expect(response.status).toBe(200);
    return response;
  });
  expect(moved.headers.get('x-stranded-sales')).toBe('2');
  const { database } = scene.installation;
  const { rows } = await database.query<{ after: object }>(
    `select after from admin_events where kind = 'processor' order by id desc limit 1`,
  );
  expect(rows[0]!.after).toMatchObject({ strandedSales: 2, switchRevision: 1 });
  await untilThere();
  const gone = { status: 409, body: { errorCode: 212, detail: expect.stringContaining('another switch') } };
  const before = (await storedTransactions(database)).length;
  for (const [n, sale] of sales.entries()) {
    expect(await voidSale(scene.installation, sale)).toMatchObject(gone);
    expect(await refundSale(scene.installation, sale, { amount: '1.00', refundReference: `r${n}` })).toMatchObject(
      gone,
    );
  }
  expect(await storedTransactions(database)).toHaveLength(before);
  expect(other.requests).toEqual([]);
});
