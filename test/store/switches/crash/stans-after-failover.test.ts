import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openAlike } from '../../../../src/store/postgres/open-database.ts';
import { type SkippedStans, StanBlocks } from '../../../../src/store/switches/stan-blocks.ts';
import { type PreparedPrimary, preparePrimary, ReplicatedPostgres } from '../../../support/replicated-postgres.ts';

const DAY = '2026-03-02';
const SCOPE = { acquirerId: 2, tid: null };
const BLOCK = 100;

/** A real primary that is lost, and its standby, which takes over with what it has received. */
let prepared: PreparedPrimary;
let postgres: ReplicatedPostgres;
beforeAll(async () => {
  prepared = await preparePrimary();
});
afterEach(() => postgres.close());
afterAll(() => prepared.remove());

async function take(blocks: StanBlocks, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) taken.push((await blocks.next(SCOPE, DAY))!.stan);
  return taken;
}

function expectAllDifferent(...taken: readonly string[][]): void {
  const all = taken.flat();
  expect(new Set(all).size).toBe(all.length);
}

/** A process whose connections lead to the new primary when the former one is lost, as through a proxy. */
async function openSurvivor(): Promise<{ blocks: StanBlocks; reconnect: (successor: Database) => Promise<void> }> {
  const database = openAlike(postgres.primary, { maxConnections: 1 });
  const blocks = await StanBlocks.open(database);
  const reconnect = async (successor: Database) => {
    const { connectionString } = successor.options;
    Object.assign(database.options, { connectionString });
  };
  return { blocks, reconnect };
}

describe('with a synchronous standby', () => {
  beforeEach(async () => {
    postgres = await ReplicatedPostgres.start(prepared);
    await postgres.requireStandby(true);
  });

  test('no number is skipped or repeated after a failover', async () => {
    const before = await take(await StanBlocks.open(postgres.primary), BLOCK);
    const successor = await postgres.failOver();
    const skips: SkippedStans[] = [];
    const blocks = await StanBlocks.open(successor, (skip) => skips.push(skip));
    expect(await take(blocks, 1)).toEqual(['000101']);
    expect(before.at(-1)).toBe('000100');
    expect(skips).toEqual([]);
  });

  test('numbers are skipped if synchronous commits were off in between', async () => {
    const before = await take(await StanBlocks.open(postgres.primary), BLOCK);
    await postgres.requireStandby(false);
    const more = await take(await StanBlocks.open(postgres.primary), 1);
    await eventuallyReceived();
    await postgres.disconnectStandby();
    const lost = await take(await StanBlocks.open(postgres.primary), 30 * BLOCK);
    const successor = await postgres.failOver();
    expectAllDifferent(before, more, lost, await take(await StanBlocks.open(successor), 40 * BLOCK));
  });

  test('a process that has lost a reservation shows that numbers must be skipped for all', async () => {
    const survivor = await openSurvivor();
    const before = await take(survivor.blocks, BLOCK);
    await postgres.disconnectStandby();
    await postgres.requireStandby(false); // which the standby never learns
    const lost = await take(survivor.blocks, BLOCK);
    const others = await take(await StanBlocks.open(postgres.primary), 30 * BLOCK);
    const successor = await postgres.failOver();
    await survivor.reconnect(successor);
    expectAllDifferent(before, lost, others, await take(survivor.blocks, 40 * BLOCK));
  });

  test('a recovery to a point in time is no failover: numbers are skipped', async () => {
    await take(await StanBlocks.open(postgres.primary), 1);
    const successor = await postgres.recoverToNow();
    const [stan] = await take(await StanBlocks.open(successor), 1);
    expect(Number(stan)).toBeGreaterThan(10_000);
  });
});

test.each([
  { what: 'a cluster of another name', options: { standbyCluster: 'remote' } },
  { what: 'a cluster that may promote any standby', options: { promotesOnlySynchronous: false } },
])('numbers are skipped after a failover to $what', async ({ options }) => {
  postgres = await ReplicatedPostgres.start(prepared, options);
  await postgres.requireStandby(true);
  const before = await take(await StanBlocks.open(postgres.primary), 1);
  await postgres.disconnectStandby();
  await postgres.requireStandby(false); // which the standby never learns
  const lost = await take(await StanBlocks.open(postgres.primary), 30 * BLOCK);
  const successor = await postgres.failOver();
  expectAllDifferent(before, lost, await take(await StanBlocks.open(successor), 40 * BLOCK));
});

describe('with an asynchronous standby', () => {
  beforeEach(async () => {
    postgres = await ReplicatedPostgres.start(prepared);
  });

  test('numbers that it never received are not repeated by new processes', async () => {
    const before = await take(await StanBlocks.open(postgres.primary), 1);
    await eventuallyReceived();
    await postgres.disconnectStandby();
    const lost = await take(await StanBlocks.open(postgres.primary), 50 * BLOCK);
    const successor = await postgres.failOver();
    expectAllDifferent(before, lost, await take(await StanBlocks.open(successor), 60 * BLOCK));
  });

  test('numbers that it never received are not repeated by processes that continue', async () => {
    const [one, another] = [await openSurvivor(), await openSurvivor()];
    const before = [...(await take(one.blocks, BLOCK)), ...(await take(another.blocks, BLOCK))];
    await eventuallyReceived();
    await postgres.disconnectStandby();
    const lost = [...(await take(one.blocks, BLOCK)), ...(await take(another.blocks, BLOCK))];
    const successor = await postgres.failOver();
    await one.reconnect(successor);
    await another.reconnect(successor);
    expectAllDifferent(before, lost, await take(one.blocks, 3 * BLOCK), await take(another.blocks, 3 * BLOCK));
  });
});

/** The standby has everything so far. */
async function eventuallyReceived(): Promise<void> {
  await postgres.disconnectStandby();
  await postgres.connectStandby();
}
