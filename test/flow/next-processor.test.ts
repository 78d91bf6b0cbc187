import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { saveProcessor, saveRoute } from '../../src/store/settings/tenants.ts';
import { Pool } from '../../src/switching/connection/pool.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, type InstallationOptions, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { faultsIn } from '../support/log-lines.ts';
import { postTap } from '../support/requests.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { ScriptedSwitch } from '../support/scripted-switch.ts';
import { ROUTE_ID } from '../support/tenants.ts';
import { jobsOf, storedTransaction, storedTransactions, trailOf, untilResponded } from '../support/transactions.ts';

const SECOND = { processorId: 2, routeId: 200 };
const TAP = { amount: '10.00', currency: 'ZAR' } as const;

let first: ScriptedSwitch;
let second: ScriptedSwitch;
let installation: Installation;

beforeEach(async () => {
  first = await ScriptedSwitch.open();
  second = await ScriptedSwitch.open();
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
  await first.close();
  await second.close();
});

/** With a second processor for the first acquirer, tried after the first; its profile differs as given. */
async function install(
  options: InstallationOptions,
  { deadlineMs = 1_000 }: { deadlineMs?: number } = {},
): Promise<void> {
  installation = await startInstallation({ ...options, connectTo: async () => first.port, role: 'none' });
  const { database } = installation;
  const { rows } = await database.query('select type, config from processors where acquirer_id = 1');
  const [{ type, config }] = rows as [{ type: string; config: object }];
  const addresses = [{ host: '127.0.0.1', port: second.port }];
  const own = { ...config, addresses, profile: { deadlineMs } };
  await saveProcessor(database, { acquirerId: 1, id: SECOND.processorId, type, config: own });
  await saveRoute(database, { acquirerId: 1, id: SECOND.routeId, processorId: SECOND.processorId, priority: 2 });
  await installation.startGateway({}, { isSwitchDown: first.isDeaf });
  await eventually(async () => expect((await installation.switchStats(installation.url, '1 2')).ready).toBe(1));
}

/** Runs `meanwhile` while a tap holds its slot on the first switch's connection, and its commit is not done yet. */
async function tapWhile(meanwhile: () => Promise<void>) {
  const { database } = installation;
  // The first purge updates the table, too: its wait is not that of the tap.
  await eventually(async () => {
    expect((await database.query(`select from purge_marks where kind = 'links'`)).rowCount).toBe(1);
  });
  const locking = await database.connect();
  await locking.query('begin');
  await locking.query('lock table transactions in exclusive mode');
  const response = installation.phone().tap(TAP);
  await eventually(async () => {
    // In a transaction, all reads of pg_stat_activity show the sessions of the first one.
    const { rowCount } = await database.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(rowCount).toBeGreaterThan(0);
  });
  await meanwhile();
  await locking.query('commit');
  locking.release();
  return outcomeOf(await response);
}

describe('if it is proven that nothing was written to a switch', () => {
  const lineIsLost = async () => {
    await first.stopListening();
    await eventually(async () => expect((await installation.switchStats()).ready).toBe(0));
  };

  test('the next processor by priority gets the tap, with its own STAN', async () => {
    await install({ profile: { deadlineMs: 1_500 } });
    const { type, serviceReference: id } = await tapWhile(lineIsLost);
    expect(type).toBe('Approved');
    await untilResponded(installation.database, id);
    expect(first.requests).toEqual([]);
    expect(second.of('0200')).toHaveLength(1);
    const { stan, rrn } = await storedTransaction(installation.database, id);
    expect(second.of('0200')[0]?.message).toMatchObject({ stan, rrn });
    expect(stan).not.toBe('000001');
    const { rows } = await installation.database.query('select route_id from transactions');
    expect(rows).toEqual([{ route_id: SECOND.routeId }]);
    expect(await trailOf(installation.database, id)).toEqual([
      'RequestReceived',
      'ReadyToSubmitToPaymentProcessor',
      'SubmittedToPaymentProcessor',
      'ReadyToSubmitToPaymentProcessor',
      'SubmittedToPaymentProcessor',
      'ResponseReceivedFromPaymentProcessor',
      'RespondedToPhone',
    ]);
    await eventually(async () => expect(await jobsOf(installation.database, id)).toEqual([]));
  });

  test('the next processor is not tried if that would leave it less than its deadline: the tap is UnableToGoOnline', async () => {
    await install({ profile: { deadlineMs: 1_500 } }, { deadlineMs: 10_000 });
    const { type, serviceReference: id } = await tapWhile(lineIsLost);
    expect(type).toBe('UnableToGoOnline');
    await untilResponded(installation.database, id);
    expect(second.requests).toEqual([]);
    expect(await storedTransaction(installation.database, id)).toMatchObject({ reversalState: 0 });
  });

  test('no other processor has a slot: the tap is UnableToGoOnline', async () => {
    await install({ profile: { deadlineMs: 1_500 } });
    const { type } = await tapWhile(async () => {
      await second.stopListening();
      await lineIsLost();
      await eventually(async () => expect((await installation.switchStats(installation.url, '1 2')).ready).toBe(0));
    });
    expect(type).toBe('UnableToGoOnline');
  });

  test('a reversal is sent to the processor of its original', async () => {
    await install({ profile: { deadlineMs: 1_500 } });
    second.onRequest = (request) => {
      if (request.message.mti !== '0200') request.respond();
    };
    const { type, serviceReference: id } = await tapWhile(lineIsLost);
    expect(type).toBe('Indeterminate');
    await eventually(async () =>
      expect(await storedTransaction(installation.database, id)).toMatchObject({ disposition: 5, reversalAttempt: 1 }),
    );
    expect(second.of('0420')).toHaveLength(1);
  });
});

describe('if a byte may have been written', () => {
  test('no other processor is tried', async () => {
    await install({ profile: { deadlineMs: 1_000 } });
    first.onRequest = ({ message, line }) => {
      if (message.mti === '0200') line.socket.destroy();
    };
    const { type } = outcomeOf(await installation.phone().tap(TAP));
    expect(type).toBe('Indeterminate');
    expect(second.requests).toEqual([]);
  });
});

test('a tap does not wait for a connection to open while the next processor has one', async () => {
  first.isDeaf = true;
  await install({ profile: { deadlineMs: 1_000 } });
  expect((await installation.switchStats()).availability).toBe('connecting');
  const waiting = vi.spyOn(Pool.prototype, 'waitForSlot');
  expect(outcomeOf(await installation.phone().tap(TAP)).type).toBe('Approved');
  expect(waiting).not.toHaveBeenCalled();
  waiting.mockRestore();
  expect(second.of('0200')).toHaveLength(1);
});

describe('a switch without a free slot', () => {
  /** Takes the only slot of the first switch. */
  async function fillFirst(): Promise<void> {
    first.onRequest = () => {};
    void installation
      .phone()
      .tap(TAP)
      .catch(() => {});
    await first.next('0200');
  }

  test('gives the tap to the next one by priority', async () => {
    await install({ profile: { deadlineMs: 10_000, maxInFlight: 1 } }, { deadlineMs: 1_000 });
    await fillFirst();
    const { type, serviceReference: id } = outcomeOf(await installation.phone().tap(TAP));
    expect(type).toBe('Approved');
    expect((await storedTransactions(installation.database)).map((row) => row.id)).toContain(id);
    first.of('0200')[0]?.respond();
  });

  test('is overload if there is no other: 503 before anything is stored, and not UnableToGoOnline', async () => {
    await install({ profile: { deadlineMs: 10_000, maxInFlight: 1 } });
    await installation.database.query('delete from routes where id <> $1', [ROUTE_ID]);
    await eventually(async () => {
      const { rowCount } = await installation.database.query('select from routes where id = $1', [SECOND.routeId]);
      expect(rowCount).toBe(0);
    });
    await second.stopListening();
    await eventually(async () => expect((await installation.switchStats(installation.url, '1 2')).ready).toBe(0));
    await fillFirst();
    const phone = installation.phone();
    const response = await postTap(installation.url, phone, await phone.seal(TAP));
    expect(problemOf(response)).toMatchObject({ status: 503, errorCode: 203 });
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await storedTransactions(installation.database)).toHaveLength(1);
    first.of('0200')[0]?.respond();
  });
});
