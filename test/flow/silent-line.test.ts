import { setTimeout as pace } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';
import { ScriptedSwitch } from '../support/scripted-switch.ts';

/** The pace of a till, not a wait for anything. */
const TAPS_EVERY_MS = 250;
const TAPS = 24;
/** Deadline of the lost taps: long after the silence is noticed. */
const DEADLINE_MS = 8_000;

let primary: ScriptedSwitch;
let backup: ScriptedSwitch;
let installation: Installation;

beforeEach(async () => {
  [primary, backup] = await Promise.all([ScriptedSwitch.open(), ScriptedSwitch.open()]);
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  await installation.stop();
  await Promise.all([primary.close(), backup.close()]);
});

/** The connection stays open, and nothing receives a response. */
function fallSilent(scripted: ScriptedSwitch): void {
  scripted.isDeaf = true;
  scripted.onRequest = () => {};
}

function speakAgain(scripted: ScriptedSwitch): void {
  scripted.isDeaf = false;
  scripted.onRequest = (request) => request.respond();
}

async function tap(): Promise<string> {
  return outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })).type;
}

/** Taps until the first one is sent to the backup. */
async function tapUntilDetour(): Promise<Promise<string>[]> {
  const first = tap();
  const outcomes = [first];
  let isFirstDecided = false;
  void first.then(() => {
    isFirstDecided = true;
  });
  while (backup.of('0200').length === 0) {
    await pace(TAPS_EVERY_MS);
    expect(isFirstDecided).toBe(false);
    outcomes.push(tap());
  }
  return outcomes;
}

/**
 * The silent one loses only a few, the other one has all the others, and the silent one is used again when it responds.
 */
async function expectDetour(): Promise<void> {
  expect(await tap()).toBe('Approved');
  expect(primary.of('0200')).toHaveLength(1);
  fallSilent(primary);
  const outcomes = await tapUntilDetour();
  for (let count = 0; count < TAPS; count++) expect(await tap()).toBe('Approved');
  const lost = primary.of('0200').length - 1;
  const types = await Promise.all(outcomes);
  expect(types.slice(0, lost)).toEqual(Array.from({ length: lost }, () => 'Indeterminate'));
  expect(types.slice(lost)).toEqual(types.slice(lost).map(() => 'Approved'));

  speakAgain(primary);
  const before = primary.of('0200').length;
  await eventually(async () => {
    expect(await tap()).toBe('Approved');
    expect(primary.of('0200').length).toBeGreaterThan(before);
  });
}

test('a silent connection keeps only a few taps from its backup, and is used again when it responds', async () => {
  const addresses = [primary, backup].map(({ port }) => ({ host: '127.0.0.1', port }));
  installation = await startInstallation({ config: { addresses }, profile: { deadlineMs: DEADLINE_MS } });
  await eventually(() => expect(backup.signOns.length).toBeGreaterThan(0));
  await expectDetour();
});

test('a processor whose connections are all silent keeps only a few taps from the next one of the route, and is used again', async () => {
  installation = await startInstallation({
    role: 'none',
    config: { addresses: [{ host: '127.0.0.1', port: primary.port }] },
    profile: { deadlineMs: DEADLINE_MS },
  });
  const { database } = installation;
  await database.query(
    `insert into processors (acquirer_id, id, type, config)
     select 1, 50, type, jsonb_set(config, '{addresses,0,port}', $1::jsonb) from processors where acquirer_id = 1 and id = 1`,
    [backup.port],
  );
  await database.query('insert into routes (acquirer_id, id, processor_id, priority) values (1, 500, 50, 1000)');
  await installation.startGateway();
  await expectDetour();
});
