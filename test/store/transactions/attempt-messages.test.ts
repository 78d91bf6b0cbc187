import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadProcessors } from '../../../src/processor-kit/load-processors.ts';
import { AttemptMessages, findMessages } from '../../../src/store/transactions/attempt-messages.ts';
import type { Exchange } from '../../../src/switches/ports.ts';
import { eventually } from '../../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

const types = await loadProcessors();
const spec = types.get('type-1')!.spec;

function exchange(changes: Partial<Exchange> = {}): Exchange {
  return {
    about: { acquirerId: 1, id: randomUUID(), attempt: 1 },
    ...{ kind: 'authorization', number: 1, processorId: 1, connectionId: 'line', spec, sentAtMs: Date.now() },
    ...{ tookMs: 3, outcome: 'answered', isRoutine: true, request: { mti: '0200' }, response: { mti: '0210' } },
    ...changes,
  };
}

function open(ration: () => number): AttemptMessages {
  const { database } = testDatabase;
  const onError = (error: unknown) => {
    throw error;
  };
  return new AttemptMessages({ database, ration, onError });
}

/** What of a message nobody may see, wherever it stands: PANs, tracks, PIN blocks and MACs. */
function secretsOf(message: object): string[] {
  const { pan, track2, track1, pinData, pinBlock, mac } = message as Record<string, unknown>;
  return [pan, track2, track1, pinData, pinBlock, mac]
    .filter((value) => value !== undefined)
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)));
}

describe('the messages of attempts', () => {
  test.each([...types])('of %s are kept whole but for what is secret', async (_type, processor) => {
    const messages = open(() => 100);
    const samples = processor.samples.map(({ message }) => ({
      message,
      about: { acquirerId: 1, id: randomUUID(), attempt: 1 },
    }));
    for (const { message, about } of samples)
      messages.keep(exchange({ about, request: message, spec: processor.spec }));
    await messages.close();
    let secrets = 0;
    for (const { message, about } of samples) {
      const [kept] = await findMessages(testDatabase.database, about);
      expect(kept!.request[0]).toMatchObject({ path: expect.stringMatching(/^(mti|header)$/) });
      const text = JSON.stringify(kept).toUpperCase();
      for (const secret of secretsOf(message)) {
        secrets++;
        expect(text).not.toContain(secret.toUpperCase());
      }
    }
    expect(secrets).toBeGreaterThan(2);
  });

  test('of ordinary approvals are dropped and counted when there is no time; the others are not', async () => {
    const messages = open(() => 0);
    const odd = Array.from({ length: 300 }, () => exchange({ isRoutine: false, outcome: 'deadline' }));
    for (const each of odd) {
      messages.keep(exchange());
      messages.keep(each);
    }
    expect(messages.counts).toEqual({ kept: 0, dropped: 44 });
    await messages.close();
    expect(messages.counts).toEqual({ kept: 556, dropped: 44 });
    for (const { about } of odd.slice(-2)) expect(await findMessages(testDatabase.database, about)).toHaveLength(1);
    messages.keep(exchange());
    expect(messages.counts.dropped).toBe(45);
  });

  test('are written soon, without anybody asking', async () => {
    const messages = open(() => 1);
    const [one, other] = [exchange(), exchange({ response: undefined, outcome: 'garbled' })];
    messages.keep(one);
    messages.keep(other);
    await eventually(async () => {
      expect(await findMessages(testDatabase.database, one.about)).toMatchObject([
        { kind: 'authorization', tookMs: 3 },
      ]);
      expect(await findMessages(testDatabase.database, other.about)).toMatchObject([
        { outcome: 'garbled', response: null },
      ]);
    });
    await messages.close();
  });

  test('that the database does not take are dropped, counted and told, and nothing else happens', async () => {
    const told: unknown[] = [];
    const database = { connect: () => Promise.reject(new Error('away')) } as never;
    const messages = new AttemptMessages({ database, ration: () => 10, onError: (error) => told.push(error) });
    messages.keep(exchange());
    await eventually(() => expect(messages.counts).toEqual({ kept: 0, dropped: 1 }));
    expect(told).toHaveLength(1);
    await messages.close();
  });
});
