import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createConsoleBacklog } from '../../../src/console/read-backlog.ts';
import { readConfig } from '../../../src/start/config.ts';
import { openKeyRing } from '../../../src/start/open-key-ring.ts';
import { Acquirers } from '../../../src/store/settings/acquirers.ts';
import { IdempotencyKeys } from '../../../src/store/transactions/idempotency.ts';
import { reserveNumbers } from '../../../src/tools/cells/cell-status.ts';
import { LEFT_BEHIND, tenantTables } from '../../../src/tools/cells/tenant-tables.ts';
import { forgetAcquirer, undoMove } from '../../../src/tools/cells/undo-move.ts';
import { Phone } from '../../../src/tools/phone/phone.ts';
import { Killed, TwoCells } from '../../support/cells.ts';
import { eventually } from '../../support/eventually.ts';
import { enterPin, tapForPin } from '../../support/pins.ts';
import { outcomeOf } from '../../support/responses.ts';

let cells: TwoCells;
beforeAll(async () => {
  // One for each acquirer: the second cell cannot connect before the first has closed its connection.
  cells = await TwoCells.start({ maxSessions: 2 });
});
afterAll(() => cells.stop());

const tapAt = (url: string, merchantReference?: string) =>
  cells.installation.phoneAt(url).tap({ amount: '10.00', currency: 'ZAR', merchantReference });

const count = async (side: 'a' | 'b', table: string, column = 'acquirer_id') =>
  (await cells.databases[side].query(`select from ${table} where ${column} = 1`)).rowCount;

test.each([
  ['[null,"issuer",7,"1001",null]', 7],
  ['["key","user",8,"0b6f7f5e-6a53-4d1e-9d43-5a4f8f0f1c11"]', 8],
  ['[null,"token","0b6f7f5e-6a53-4d1e-9d43-5a4f8f0f1c11"]', null],
  ['key no-such-key', null],
])('the acquirer of the credential %s is %s', async (credential, expected) => {
  const { rows } = await cells.databases.a.query('select acquirer_of_credential($1) as id', [credential]);
  expect(rows[0].id).toBe(expected);
});

test.each([
  ['lacks a key', `update cell_identity set keys = '{}'`, /b lacks keys of a \(.*panSealing/],
  ['has another name', `update cell_identity set name = 'c'`, /The database of b belongs to cell c/],
  ['has another version', `insert into migrations (name, run_on) values ('9999_new', now())`, /different versions/],
  [
    'has a process without a name',
    `insert into process_figures (process_id, figures) values (gen_random_uuid(), '{"host": "h", "pid": 7}')`,
    /h process 7 of b runs without CELL_NAME=b/,
  ],
  [
    'has an acquirer of its own',
    `insert into acquirers (id, name) values (1, 'Own')`,
    /b has an acquirer 1 of its own/,
  ],
])('a move to a cell that %s is refused before anything is changed', async (_what, fault, message) => {
  const { b } = cells.databases;
  const [identity] = (await b.query<{ name: string; keys: string[] }>('select name, keys from cell_identity')).rows;
  await b.query(fault);
  await expect(cells.move('a', 'b')).rejects.toThrow(message);
  await b.query('update cell_identity set name = $1, keys = $2', [identity!.name, identity!.keys]);
  await b.query(`delete from migrations where name = '9999_new'`);
  await b.query('delete from acquirers where id = 1');
  await b.query(`delete from process_figures where figures ->> 'pid' = '7'`);
  for (const { rowCount } of await Promise.all(
    Object.values(cells.databases).map((database) => database.query('select from acquirer_cells')),
  ))
    expect(rowCount).toBe(0);
});

describe('an acquirer that is moved', () => {
  test('is served by the other cell, which has all its rows', async () => {
    const before = outcomeOf(await tapAt(cells.gateways.a.url, 'before'));
    const refundKey = await cells.installation.apiKey();
    expect(before.type).toBe('Approved');
    const keeper = new IdempotencyKeys(
      cells.databases.a,
      await openKeyRing(readConfig(cells.installation.environment())),
    );
    await keeper.claim({
      credential: '[null,"issuer",1,"1001",null]',
      route: 'POST /x',
      key: 'k',
      fingerprint: Buffer.from('f'),
    });
    keeper.close();
    expect(await count('a', 'idempotency_keys')).toBe(1);
    // Of a terminal whose numbers are held here. The other cell skipped more of them than have been used since.
    const stans = `insert into stan_blocks (scope, next_value, business_date, day_first, held_until) values ('1 HELD', $1, $2, 0, $3)`;
    await cells.databases.a.query(stans, [100, '2026-03-02', '2026-03-07']);
    await cells.databases.b.query(stans, [10_500, '2026-03-01', null]);
    const steps = await cells.move('a', 'b');
    const held = `select next_value::integer as next, held_until::text as until from stan_blocks where scope = '1 HELD'`;
    expect((await cells.databases.b.query(held)).rows).toEqual([{ next: 10_500, until: '2026-03-07' }]);
    expect([...new Set(steps)].slice(0, 6)).toEqual([
      'checked',
      'announced',
      'fenced',
      'replicating',
      'copied',
      'held',
    ]);
    expect(steps.slice(-5)).toEqual(['arrived', 'tookOver', 'signedOn', 'flipped', 'finished']);
    expect(outcomeOf(await tapAt(cells.gateways.b.url)).type).toBe('Approved');
    const refunded = await fetch(new URL(`/transactions/${before.serviceReference}/refund`, cells.gateways.a.url), {
      method: 'POST',
      headers: { 'x-api-key': refundKey, 'content-type': 'application/json' },
      body: JSON.stringify({ amount: '1.00', refundReference: randomUUID() }),
    });
    expect(refunded.status, await refunded.text()).toBe(503);
    const { source, target } = await cells.sessions('a', 'b');
    for (const { name, column } of await tenantTables(source)) {
      if (['handed_over', 'transactions', 'transaction_events', 'attempt_messages'].includes(name)) continue;
      const since = ['used_values', 'merchant_references'].includes(name) ? 1 : 0; // of the tap after the move
      expect([name, await count('b', name, column)]).toEqual([name, since + Number(await count('a', name, column))]);
    }
    await source.close();
    await target.close();
  });

  test('is named in the consoles of both cells', async () => {
    const stateOf = async (side: 'a' | 'b') => (await createConsoleBacklog(cells.databases[side])(undefined)).database;
    expect(await stateOf('a')).toMatchObject({ cell: 'a', moved: [{ acquirerId: 1, state: 'gone', peer: 'b' }] });
    expect(await stateOf('b')).toMatchObject({ cell: 'b', moved: [] });
  });

  test('is refused in its former cell, with Retry-After and without a row', async () => {
    const { status, body } = await tapAt(cells.gateways.a.url, 'refused');
    expect([status, body]).toEqual([503, expect.objectContaining({ errorCode: 201 })]);
    const { rowCount } = await cells.databases.a.query(`select from transactions where merchant_reference = 'refused'`);
    expect(rowCount).toBe(0);
  });
});

test('every table of the schema is moved, or left behind for a reason', async () => {
  const { source, target } = await cells.sessions('a', 'b');
  const moved = (await tenantTables(source)).map(({ name }) => name);
  const all = await source.query<{ name: string }>(`select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`);
  const ofTheCell = ['acquirer_cells', 'cell_moves'];
  const known = [...moved, ...Object.keys(LEFT_BEHIND), ...ofTheCell].sort();
  expect(all.map(({ name }) => name).sort()).toEqual(known);
  await source.close();
  await target.close();
});

describe('a new acquirer', () => {
  const add = async (side: 'a' | 'b') =>
    (await new Acquirers(cells.databases[side]).add('test', { name: 'New', blocked: false })).id;

  test('a new acquirer of each cell gets a number of this cell, and none that an acquirer had which has moved', async () => {
    const { source, target } = await cells.sessions('a', 'b');
    await reserveNumbers(source);
    await reserveNumbers(target);
    expect([await add('a'), await add('b'), await add('b')]).toEqual([3, 1_000_001, 1_000_002]);
    await source.query('delete from acquirers where id = 3');
    await source.query(`insert into acquirer_cells (acquirer_id, generation, state, peer) values (3, 1, 'gone', 'b')`);
    expect(await add('a')).toBe(4);
    await source.query('delete from acquirer_cells where acquirer_id = 3');
    await expect(reserveNumbers({ ...source, cell: { ...source.cell, name: 'c' } })).rejects.toThrow('CELL_NAME=c');
    await source.close();
    await target.close();
  });
});

describe('another acquirer of the former cell', () => {
  test('is served while the same commits are asked to write for the one that has moved', async () => {
    const { installation, gateways } = cells;
    const tailor = () => installation.phone('tailor').tap({ amount: '10.00', currency: 'ZAR' });
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, n) => (n % 2 === 0 ? tailor() : tapAt(gateways.a.url))),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 503, 200, 503, 200, 503, 200, 503]);
  });

  test('is not affected when the rows that the move has left are removed', async () => {
    const { source, target } = await cells.sessions('a', 'b');
    await expect(forgetAcquirer(target, source, 1)).rejects.toThrow('CANNOT_MOVE');
    await forgetAcquirer(source, target, 1);
    await source.close();
    await target.close();
    expect([await count('a', 'merchants'), await count('a', 'transactions')]).toEqual([0, 0]);
    expect((await cells.databases.a.query('select from merchants where acquirer_id = 2')).rowCount).toBe(1);
  });

  test('the former cell still refuses what a process commits that was frozen meanwhile', async () => {
    const job = `insert into pgboss.job (name, data) values ('authorize', '{"acquirerId": 1}')`;
    const merchant = `insert into merchants select * from jsonb_populate_record(null::merchants, $1)`;
    const [row] = (await cells.databases.b.query('select * from merchants where acquirer_id = 1')).rows;
    await expect(cells.databases.a.query(job)).rejects.toThrow('served by another cell');
    await expect(cells.databases.a.query(merchant, [JSON.stringify(row)])).rejects.toThrow('served by another cell');
  });
});

describe('a move back', () => {
  test('takes a PIN along that is awaited, and its job', async () => {
    const { installation, gateways } = cells;
    const device = randomUUID();
    const phoneAt = (url: string) => new Phone(installation.profile('coffee', url), device);
    const asked = await tapForPin(phoneAt(gateways.b.url));
    await cells.move('b', 'a');
    const text = `select from pgboss.job where name = 'expire-pin' and data ->> 'id' = $1`;
    expect((await cells.databases.a.query(text, [asked.id])).rowCount).toBe(1);
    expect((await cells.databases.b.query(text, [asked.id])).rowCount).toBe(0);
    expect(outcomeOf(await enterPin(phoneAt(gateways.a.url), asked)).type).toBe('Approved');
  });

  test('a move back that has not come to the end can be undone, and leaves no row in the other cell', async () => {
    const onStep = (step: string) => {
      if (step === 'drained') throw new Killed();
    };
    await expect(cells.move('a', 'b', { onStep })).rejects.toThrow(Killed);
    const { source, target } = await cells.sessions('a', 'b');
    await undoMove({ source, target, acquirerId: 1 });
    expect(outcomeOf(await tapAt(cells.gateways.a.url)).type).toBe('Approved');
    expect(await count('b', 'merchants')).toBe(0);
    const left = `select from pg_trigger where tgname = 'served_elsewhere_1'`;
    expect((await source.query(left)).length).toBe(0);
    expect((await target.query(left)).length).toBeGreaterThan(0); // its processes may still be frozen
    expect((await source.query(`select from pg_replication_slots where database = current_database()`)).length).toBe(0);
    await source.close();
    await target.close();
  });
});

describe('a source that has lost the replication slot after it gave the acquirer up', () => {
  test('is copied once more, and the target takes over', async () => {
    const { source, target } = await cells.sessions('a', 'b');
    const onStep = async (step: string) => {
      if (step === 'closed') {
        const [subscription] = await target.query<{ name: string }>(`select subname as name from pg_subscription
          where subdbid = (select oid from pg_database where datname = current_database())`);
        await target.query(`alter subscription ${subscription!.name} disable`);
      }
      if (step === 'gaveUp') throw new Killed();
    };
    expect(outcomeOf(await tapAt(cells.gateways.a.url)).type).toBe('Approved');
    await expect(cells.move('a', 'b', { onStep })).rejects.toThrow(Killed);
    await eventually(() =>
      source.query(
        `select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = current_database()`,
      ),
    );
    expect((await tapAt(cells.gateways.a.url)).status).toBe(503);
    expect((await tapAt(cells.gateways.b.url)).status).toBe(503);
    await cells.move('a', 'b');
    expect(await count('b', 'transactions')).toBe(await count('a', 'transactions'));
    expect(outcomeOf(await tapAt(cells.gateways.b.url)).type).toBe('Approved');
    await cells.move('b', 'a');
    await source.close();
    await target.close();
  });
});

describe('a command that dies while it holds the acquirer', () => {
  test('leaves it in the source, which accepts taps again when the hold ends', async () => {
    const onStep = (step: string) => {
      if (step === 'closed') throw new Killed();
    };
    await expect(cells.move('a', 'b', { onStep })).rejects.toThrow(Killed);
    await eventually(async () => {
      const response = await tapAt(cells.gateways.a.url, randomUUID());
      expect(response.status).toBe(200);
      expect(outcomeOf(response).type).toBe('Approved');
    });
    await cells.move('a', 'b');
    expect(outcomeOf(await tapAt(cells.gateways.b.url)).type).toBe('Approved');
  });
});
