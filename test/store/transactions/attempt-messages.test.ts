import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromHex } from '../../../src/codecs/bytes/hex.ts';
import { maskerOf } from '../../../src/codecs/iso8583/masker.ts';
import { showMessages } from '../../../src/console/transaction-story.ts';
import { loadProcessors } from '../../../src/kits/processor-kit/load-processors.ts';
import { type Database, openAlike } from '../../../src/store/postgres/open-database.ts';
import {
  AttemptMessages,
  type AttemptMessagesOptions,
  findMessages,
} from '../../../src/store/transactions/attempt-messages.ts';
import type { Exchange } from '../../../src/switching/switches/ports.ts';
import { eventually } from '../../support/eventually.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
/** As the gateway opens the one of messages. */
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = openAlike(testDatabase.database, { maxConnections: 1, runsCopy: true });
});
afterAll(async () => {
  await database.end();
  await testDatabase.drop();
});

const types = await loadProcessors();

function exchange(changes: Partial<Exchange> = {}): Exchange {
  return {
    about: { acquirerId: 1, id: randomUUID(), attempt: 1 },
    ...{ kind: 'authorization', number: 1, processorId: 1, connectionId: 'line', sentAtMs: 1_795_000_000_123 },
    ...{ tookMs: 3, outcome: 'responded', isRoutine: true, request: Uint8Array.of(1, 2), response: Uint8Array.of(3) },
    ...changes,
  };
}

function open(changes: Partial<AttemptMessagesOptions> = {}): AttemptMessages {
  return new AttemptMessages({ database, kept: 'all', onError: failOnBug, ...changes });
}

const find = ({ about }: Exchange) => findMessages(testDatabase.database, { ...about, createdAtMs: Date.now() });

describe('the messages of attempts', () => {
  test('are found as they were stored', async () => {
    const messages = open();
    const whole = exchange({ kind: 'reversal', number: 40_000, tookMs: 2 ** 40, outcome: 'o'.repeat(70) });
    const lengths = exchange({ about: { ...whole.about, attempt: 2 }, request: undefined, response: 70_000 });
    const long = exchange({ request: new Uint8Array(16_385), response: undefined });
    for (const each of [whole, lengths, long]) messages.keep(each);
    await messages.close();
    const [one, two] = await find(whole);
    expect(one).toEqual({
      ...{ attempt: 1, kind: 'reversal', number: 32_767, processorId: 1, connection: 'line', tookMs: 2 ** 31 - 1 },
      ...{ sentAt: new Date(whole.sentAtMs).toISOString(), outcome: 'o'.repeat(64) },
      ...{ request: Buffer.of(1, 2), response: Buffer.of(3) },
    });
    expect(two).toMatchObject({ attempt: 2, request: null, response: 70_000 });
    expect(await find(long)).toMatchObject([{ request: 16_385, response: null }]);
  });

  test.each([
    ...types,
  ])('the messages of attempts of %s are described field by field, without secrets', async (type, processor) => {
    const messages = open();
    const tables = { types, processors: () => [{ acquirerId: 1, id: 1, type, config: processor.exampleConfig }] };
    const samples = processor.samples.filter(({ config }) => config === undefined);
    const kept = samples.map(({ wireHex }) => {
      return exchange({ request: maskerOf(processor.spec).mask(fromHex(wireHex))!, response: undefined });
    });
    for (const each of kept) messages.keep(each);
    await messages.close();
    for (const each of kept) {
      const [reported] = showMessages(tables, 1, await find(each));
      expect(reported!.request.length).toBeGreaterThan(3);
      expect(reported!.request[0]).toMatchObject({ path: 'mti', withheld: false });
      expect(JSON.stringify(reported)).not.toMatch(/411111111111|541333008901|3742450017510/);
    }
    const [gone] = showMessages({ ...tables, processors: () => [] }, 1, await find(kept[0]!));
    expect(gone!.request).toMatchObject([{ withheld: true, details: [expect.stringContaining('was removed')] }]);
  });

  test('the messages of attempts of ordinary approvals are dropped and counted if the database is unavailable too long; the others have their own room', async () => {
    const { promise: isBack, resolve: back } = Promise.withResolvers<void>();
    const frozen = { connect: () => isBack.then(() => database.connect()) } as never;
    const messages = open({ database: frozen });
    const request = new Uint8Array(16_384);
    const odd = exchange({ isRoutine: false, outcome: 'deadline' });
    for (let times = 0; times < 300; times++) messages.keep(exchange({ request }));
    const { dropped, waitingBytes } = messages.counts;
    expect(dropped).toBeGreaterThan(20);
    expect(waitingBytes).toBeLessThan(5 * 1_048_576);
    messages.keep(odd);
    expect(messages.counts.dropped).toBe(dropped);
    back();
    await messages.close();
    expect(messages.counts).toEqual({ kept: 301 - dropped, dropped, waitingBytes: 0 });
    expect(await find(odd)).toHaveLength(1);
    messages.keep(exchange());
    expect(messages.counts.dropped).toBe(dropped + 1);
  });

  test.each([
    ['all', [1, 1]],
    ['exceptions', [0, 1]],
    ['none', [0, 0]],
  ] as const)('the messages of attempts that are requested: %s', async (kept, expected) => {
    const messages = open({ kept });
    const both = [exchange(), exchange({ isRoutine: false })];
    for (const each of both) messages.keep(each);
    await messages.close();
    expect(await Promise.all(both.map(async (each) => (await find(each)).length))).toEqual(expected);
    expect(messages.counts.dropped).toBe(0);
    expect(messages.isKeeping).toBe(kept !== 'none');
  });

  test('are written soon without a request, repeatedly', async () => {
    const messages = open();
    for (const each of [exchange(), exchange({ response: undefined, outcome: 'garbled' })]) {
      messages.keep(each);
      await eventually(async () => {
        expect(await find(each)).toMatchObject([
          { outcome: each.outcome, response: each.response ? Buffer.of(3) : null },
        ]);
      });
    }
    await messages.close();
  });

  test('the messages of attempts that the database refuses are dropped, counted and reported, and later ones are stored', async () => {
    const reported: unknown[] = [];
    const messages = open({ onError: (error) => reported.push(error) });
    messages.keep(exchange({ kind: 'nothing' as never, isRoutine: false }));
    const good = exchange();
    messages.keep(good);
    await eventually(() => expect(messages.counts).toMatchObject({ kept: 1, dropped: 1 }));
    expect(reported).toMatchObject([{ code: '23514' }]);
    expect(await find(good)).toHaveLength(1);
    const away = { connect: () => Promise.reject(new Error('away')) } as never;
    const others = open({ database: away, onError: (error) => reported.push(error) });
    others.keep(exchange());
    await eventually(() => expect(others.counts).toMatchObject({ kept: 0, dropped: 1, waitingBytes: 0 }));
    await Promise.all([messages.close(), others.close()]);
  });
});
