import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';
import { History, Worker } from '../key-exchange-history.ts';
import { beginWith } from '../key-exchange-openings.ts';
import { OVERLAP_MS } from '../keys-of-switch.ts';

/**
 * Histories of key exchanges: real workers on a real database, and a switch that shares no code with the gateway. Each
 * history has an opening, a sequence that random actions rarely make. Then keys are announced at any moment, by either
 * side, on any connection, also again by an attacker. Processes are held or die between any two steps, connections are
 * lost, an HSM refuses keys, reads of the database fail, and PINs wait for a slot. The judge is the switch: no PIN and no
 * MAC may be under a key that it no longer has. In the end each worker has a key for both, and the switch knows it.
 */
const HISTORIES = Number(process.env.KEY_HISTORIES ?? 20);
const FIRST_SEED = Number(process.env.KEY_SEED ?? 1);
const STEPS = 30;

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

const KINDS = [
  ['the gateway begins, one worker', 'us', 1, 'byAnnouncement', OVERLAP_MS],
  ['the gateway begins, two workers', 'us', 2, 'byResponse', OVERLAP_MS],
  ['the switch begins, two workers', 'switch', 2, 'byAnnouncement', OVERLAP_MS],
  ['the switch begins, two workers, the last response counts', 'switch', 2, 'byResponse', OVERLAP_MS],
  ['the switch begins, and drops a PIN key at once, one worker', 'switch', 1, 'byAnnouncement', 0],
] as const;

test.each(KINDS)('no message is under a key that the switch no longer has, and keys return: %s', async (...kind) => {
  const [, startedBy, workers, order, pinOverlapMs] = kind;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES / 5; seed++) {
    await testDatabase.database.query('truncate exchanged_keys, replaced_keys, announced_keys, key_requests');
    const history = new History(testDatabase.database, seed, startedBy, { order, pinOverlapMs });
    history.workers = Array.from({ length: workers }, (_, at) => new Worker(`worker ${at + 1}`, history));
    const hasBegun = await beginWith(history, seed + KINDS.findIndex(([name]) => name === kind[0]));
    for (let step = 0; hasBegun && step < STEPS; step++) {
      await history.act();
      await new Promise((resolve) => setImmediate(resolve));
      history.sendAll();
    }
    const isRecovered = hasBegun && (await history.recover());
    history.sendAll();
    for (const worker of history.workers) worker.die();
    const outcome = { seed, violations: history.violations, isRecovered };
    expect(outcome, history.log.join('\n')).toEqual({ seed, violations: [], isRecovered: true });
  }
});
