import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { Overloaded, StoreUnavailable } from '../../../src/basics/errors.ts';
import { GroupCommit, type GroupCommitOptions, inTransaction } from '../../../src/store/postgres/group-commit.ts';
import { type Database, openDatabase } from '../../../src/store/postgres/open-database.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
let pool: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  pool = await openDatabase(testDatabase.url, { maxConnections: 4 });
  await testDatabase.database.query(
    'create table kept (key text primary key, value integer not null check (value >= 0), writes integer not null default 1)',
  );
});
beforeEach(() => testDatabase.database.query('truncate kept'));
afterAll(async () => {
  await pool.end();
  await testDatabase.drop();
});

interface Item {
  readonly key: string;
  readonly value: number;
}

const STORE = `insert into kept (key, value) select * from unnest($1::text[], $2::integer[])
  on conflict (key) do update set value = excluded.value, writes = kept.writes + 1`;

/** Stores a batch and returns each key in lower case. */
async function store(client: pg.PoolClient, items: readonly Item[]): Promise<string[]> {
  await client.query(STORE, [items.map(({ key }) => key), items.map(({ value }) => value)]);
  return items.map(({ key }) => key.toLowerCase());
}

/** A group that records its batches, as their keys. */
function group(changes: Partial<GroupCommitOptions<Item, string>> = {}, database = pool) {
  const batches: string[][] = [];
  const write = changes.write ?? store;
  const commits = new GroupCommit<Item, string>(database, {
    keyOf: ({ key }) => key,
    ...changes,
    write: (client, items, seal) => {
      batches.push(items.map(({ key }) => key));
      return write(client, items, seal);
    },
  });
  return { commits, batches };
}

async function stored(): Promise<Record<string, number>> {
  const { rows } = await testDatabase.database.query<Item>('select key, value from kept');
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

const items = (count: number, prefix = 'K') =>
  Array.from({ length: count }, (_, value) => ({ key: `${prefix}${String(value).padStart(4, '0')}`, value }));

/** A gate that a test opens. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

describe('simultaneous writes', () => {
  test('share one transaction, and each gets its own outcome', async () => {
    const { commits, batches } = group();
    const shuffled = items(50).toSorted((one, other) => ((one.value * 37) % 50) - ((other.value * 37) % 50));
    const outcomes = await Promise.all(shuffled.map((item) => commits.submit(item)));
    expect(batches).toEqual([items(50).map(({ key }) => key)]);
    expect(outcomes).toEqual(shuffled.map(({ key }) => key.toLowerCase()));
    expect(Object.keys(await stored())).toHaveLength(50);
  });

  test('make batches of at most 256', async () => {
    const { commits, batches } = group();
    await Promise.all(items(600).map((item) => commits.submit(item)));
    expect(batches.map(({ length }) => length)).toEqual([256, 256, 88]);
    expect(Object.keys(await stored())).toHaveLength(600);
  });

  test('are in a batch once for each key; the next one with it waits for the next batch, in order', async () => {
    const { commits, batches } = group();
    const values = [1, 2, 3].map((value) => commits.submit({ key: 'same', value }));
    await Promise.all([...values, commits.submit({ key: 'other', value: 9 })]);
    expect(batches).toEqual([['other', 'same'], ['same'], ['same']]);
    expect(await stored()).toEqual({ other: 9, same: 3 });
  });

  test('are collected for the configured time', async () => {
    const { commits, batches } = group({ everyMs: 1_000 });
    const first = commits.submit({ key: 'a', value: 1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([first, commits.submit({ key: 'b', value: 2 })]);
    expect(batches).toEqual([['a', 'b']]);
  });

  test('are not collected for longer than until a batch is full', async () => {
    const { commits, batches } = group({ everyMs: 3_600_000 });
    const all = items(600);
    const written = all.slice(0, 512).map((item) => commits.submit(item));
    for (const item of all.slice(512)) void commits.submit(item);
    await Promise.all(written);
    expect(batches.map(({ length }) => length)).toEqual([256, 256]);
  });
});

test('writes that arrive during a batch are collected for the next', async () => {
  const { open, opened } = gate();
  let writing = 0;
  const { commits, batches } = group({
    write: async (client, batch) => {
      writing++;
      await opened;
      return store(client, batch);
    },
  });
  const [first, ...rest] = items(20);
  const responses = [commits.submit(first!)];
  await eventually(() => expect(writing).toBe(1));
  responses.push(...rest.map((item) => commits.submit(item)));
  await new Promise((resolve) => setImmediate(resolve));
  expect(writing).toBe(1);
  open();
  await Promise.all(responses);
  expect(batches.map(({ length }) => length)).toEqual([1, 19]);
});

test('writes that arrive while the transaction is being opened join its batch', async () => {
  const lone = await openDatabase(testDatabase.url, { maxConnections: 1 });
  try {
    const taken = await lone.connect();
    const { commits, batches } = group({}, lone);
    const early = commits.submit({ key: 'EARLY', value: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5)); // a connection is being waited for by now
    const late = commits.submit({ key: 'LATE', value: 2 });
    taken.release();
    await Promise.all([early, late]);
    expect(batches).toEqual([['EARLY', 'LATE']]);
  } finally {
    await lone.end();
  }
});

describe('a write that the database refuses', () => {
  test.each([
    ['breaks a constraint (class 23)', { key: 'K0500', value: -1 }, '23514'],
    ['is out of range (class 22)', { key: 'K0500', value: 2 ** 40 }, '22003'],
    ['has a NUL in its text (class 22)', { key: 'K\0', value: 1 }, '22021'],
  ])('a write that the database refuses because it %s fails alone, at any position among others', async (_why, bad, code) => {
    const { commits, batches } = group();
    const good = items(33).map((item) => commits.submit(item));
    const refused = commits.submit(bad);
    await expect(refused).rejects.toMatchObject({ code });
    expect(await Promise.all(good)).toHaveLength(33);
    expect(Object.keys(await stored())).toHaveLength(33);
    expect(batches.at(0)).toHaveLength(34);
  });

  test('alone is tried once', async () => {
    const { commits, batches } = group();
    await expect(commits.submit({ key: 'bad', value: -1 })).rejects.toMatchObject({ code: '23514' });
    expect(batches).toEqual([['bad']]);
  });

  test('a write that the database refuses for another reason leaves nothing of its batch, and is not tried in parts', async () => {
    const { commits, batches } = group({
      write: async (client, batch) => {
        await store(client, batch);
        await client.query('select no_such_function()');
        return [];
      },
    });
    const responses = await Promise.allSettled(items(8).map((item) => commits.submit(item)));
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'rejected'));
    expect(batches).toHaveLength(1);
    expect(await stored()).toEqual({});
  });
});

describe('deadlocks', () => {
  test('do not occur between two processes that write the same rows in any order', async () => {
    const other = await openDatabase(testDatabase.url, { maxConnections: 4 });
    try {
      const { commits, batches } = group();
      const others = new GroupCommit<Item, string>(other, { keyOf: ({ key }) => key, write: store });
      for (let round = 0; round < 20; round++) {
        const there = items(40);
        await Promise.all([
          ...there.map((item) => commits.submit(item)),
          ...there.toReversed().map((item) => others.submit(item)),
        ]);
      }
      expect(batches).toHaveLength(20); // none was split
    } finally {
      await other.end();
    }
  });

  test('are resolved by writing the batch in halves', async () => {
    let faults = 1;
    const { commits, batches } = group({
      write: async (client, batch) => {
        if (faults-- > 0) throw Object.assign(new Error('deadlock detected'), { code: '40P01', severity: 'ERROR' });
        return store(client, batch);
      },
    });
    await Promise.all(items(4).map((item) => commits.submit(item)));
    expect(batches.map(({ length }) => length)).toEqual([4, 2, 2]);
    expect(Object.keys(await stored())).toHaveLength(4);
  });
});

describe('a group with a limit', () => {
  test('refuses the write above it, before anything of it is stored, and accepts others later', async () => {
    const { open, opened } = gate();
    const { commits } = group({
      maxQueued: 3,
      write: async (client, batch) => {
        await opened;
        return store(client, batch);
      },
    });
    const waiting = items(3).map((item) => commits.submit(item));
    await expect(commits.submit({ key: 'too many', value: 1 })).rejects.toBeInstanceOf(Overloaded);
    open();
    await Promise.all(waiting);
    await commits.submit({ key: 'later', value: 1 });
    expect(Object.keys(await stored()).sort()).toEqual(['K0000', 'K0001', 'K0002', 'later']);
  });
});

describe('idle', () => {
  test('is immediate if nothing was submitted', async () => {
    await group().commits.idle();
  });

  test('follows everything that waits and everything in progress, refused or not', async () => {
    const { commits } = group();
    let settled = 0;
    const count = () => settled++;
    for (const item of items(300)) commits.submit(item).then(count, count);
    commits.submit({ key: 'bad', value: -1 }).then(count, count);
    await Promise.all([commits.idle(), commits.idle()]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(settled).toBe(301);
  });
});

describe('a connection that is lost', () => {
  const kill = (pid: number) => testDatabase.database.query('select pg_terminate_backend($1)', [pid]);
  const pidOf = async (client: pg.PoolClient) =>
    (await client.query('select pg_backend_pid() as pid')).rows[0].pid as number;

  afterEach(async () => {
    const { commits } = group();
    expect(await commits.submit({ key: 'AFTER', value: 1 })).toBe('after'); // the pool has recovered
  });

  test('a connection that is lost before the commit was sent leaves nothing stored, and is reported so', async () => {
    const { commits } = group({
      write: async (client, batch) => {
        await store(client, batch);
        await kill(await pidOf(client));
        return store(client, batch);
      },
    });
    await expect(commits.submit({ key: 'lost', value: 1 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      mayBeStored: false,
    });
    expect(await stored()).toEqual({});
  });

  test('a connection that is lost when the commit is sent may have stored everything, and is reported so', async () => {
    const { commits } = group({
      write: async (client, batch) => {
        const outcomes = await store(client, batch);
        await kill(await pidOf(client));
        return outcomes;
      },
    });
    const responses = await Promise.allSettled(items(3).map((item) => commits.submit(item)));
    for (const response of responses) {
      expect(response).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE', mayBeStored: true } });
    }
  });

  test('a connection that is lost before it could be taken from the pool stored nothing', async () => {
    const nowhere = await openDatabase(testDatabase.url, { maxConnections: 1 });
    await nowhere.end();
    const commits = new GroupCommit<Item, string>(nowhere, { keyOf: ({ key }) => key, write: store });
    const refused = await commits.submit({ key: 'a', value: 1 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreUnavailable);
    expect(refused).toMatchObject({ mayBeStored: false });
  });
});

describe('a commit that is sealed', () => {
  /** Sends COMMIT behind its statement, without waiting for its response. */
  const sealed = async (client: pg.PoolClient, batch: readonly Item[], seal: () => void): Promise<string[]> => {
    const outcomes = store(client, batch);
    seal();
    return await outcomes;
  };

  test('stores what one that waits would store', async () => {
    const { commits } = group({ write: sealed });
    expect(await Promise.all(items(40).map((item) => commits.submit(item)))).toHaveLength(40);
    expect(Object.keys(await stored())).toHaveLength(40);
  });

  test('stores nothing of a batch that is refused, and the rest of it afterwards', async () => {
    const { commits } = group({ write: sealed });
    const good = items(9).map((item) => commits.submit(item));
    await expect(commits.submit({ key: 'bad', value: -1 })).rejects.toMatchObject({ code: '23514' });
    await Promise.all(good);
    expect(Object.keys(await stored())).toHaveLength(9);
  });

  test('may be stored if its connection is lost', async () => {
    const { commits } = group({
      write: async (client, batch, seal) => {
        const outcomes = sealed(client, batch, seal);
        (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
        return await outcomes;
      },
    });
    await expect(commits.submit({ key: 'lost', value: 1 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      mayBeStored: true,
    });
  });
});

test('statements whose transaction was not opened may be stored', async () => {
  const write = (client: pg.PoolClient) => store(client, [{ key: 'OWN', value: 1 }]);
  const work = inTransaction(pool, write, 'begin isolation level nonsense');
  await expect(work).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', mayBeStored: true });
  expect(await stored()).toEqual({ OWN: 1 });
});

test('a fault that its work does not report rolls back', async () => {
  const write = async (client: pg.PoolClient) => {
    await store(client, [{ key: 'FIRST', value: 1 }]);
    await client.query('select no_such_function()').catch(() => {});
  };
  await expect(inTransaction(pool, write)).rejects.toThrow('ROLLBACK');
  expect(await stored()).toEqual({});
});

test('a transaction sends its statements without a warning of pg', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on('warning', onWarning);
  onTestFinished(() => void process.removeListener('warning', onWarning));
  await inTransaction(testDatabase.database, async (client, seal) => {
    const sent = [1, 2, 3].map((value) => store(client, [{ key: `KEY ${value}`, value }]));
    seal();
    await Promise.all(sent);
  });
  expect(Object.keys(await stored())).toHaveLength(3);
  expect(warnings).toEqual([]);
});
