import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/transactions/disposition.ts';
import { ReversalState } from '../../src/transactions/transaction.ts';
import { eventually } from '../support/eventually.ts';
import {
  GUARD_SECONDS,
  type Installation,
  type InstallationOptions,
  startInstallation,
} from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { faultsIn } from '../support/log-lines.ts';
import { type ScriptedLine, ScriptedSwitch } from '../support/scripted-switch.ts';
import { type TapInVain, tapInVain } from '../support/tap-in-vain.ts';
import { letTimePass, storedTransaction, trailOf, untilAnswered } from '../support/transactions.ts';

let scripted: ScriptedSwitch;
let installation: Installation;

beforeEach(async () => {
  scripted = await ScriptedSwitch.open();
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  expect(faultsIn(installation.logLines)).toEqual([]);
  await installation.stop();
  await scripted.close();
});

/** With one acquirer alone, so that every line is one of its own. */
async function install({ role = 'all', ...options }: InstallationOptions = {}): Promise<void> {
  const connectTo = async () => scripted.port;
  installation = await startInstallation({ profile: { deadlineMs: 1_000 }, connectTo, ...options, role: 'none' });
  for (const table of ['routes', 'processors'])
    await installation.database.query(`delete from ${table} where acquirer_id = 2`);
  if (role !== 'none') await installation.startGateway({ TAPWIRE_ROLE: role });
}

/** One that the switch did not answer, and whose reversal it has acknowledged. */
async function voidedTap(): Promise<TapInVain> {
  scripted.hold('0200');
  const tap = await tapInVain(installation, scripted);
  await untilReversal(tap.id, 'acknowledged', 1);
  await untilAnswered(installation.database, tap.id);
  return tap;
}

function untilReversal(id: string, state: keyof typeof ReversalState, attempt: number) {
  return eventually(async () => {
    const stored = await storedTransaction(installation.database, id);
    expect(stored).toMatchObject({ reversalState: ReversalState[state], reversalAttempt: attempt });
    return stored;
  });
}

/** What the trail tells of the reversal and of late responses. */
async function afterwards(id: string): Promise<string[]> {
  return (await trailOf(installation.database, id)).filter((entry) => /^(reversal|late)/.test(entry));
}

function untilTold(id: string, entry: string): Promise<void> {
  return eventually(async () => expect(await afterwards(id)).toContain(entry));
}

/** The line that came up last. */
function newestLine(): ScriptedLine {
  return scripted.lines.at(-1)!;
}

const RE_ARMED = ['late approved', 'reversal owed 1', 'reversal sent 2', 'reversal acknowledged 2'];
const VOIDED_ONCE = ['reversal sent 1', 'reversal acknowledged 1'];

describe('a late approval', () => {
  test('of a transaction that is Voided already has it reversed again, at once, and leaves it Voided', async () => {
    await install();
    const { id, sale } = await voidedTap();
    sale.answer();
    const again = await scripted.next('0421');
    expect(again.message).toMatchObject({ authorizationCode: '123456', reasonCode: '4006' });
    expect(again.line).toBe(sale.line);
    await untilReversal(id, 'acknowledged', 2);
    expect(await afterwards(id)).toEqual([...VOIDED_ONCE, ...RE_ARMED]);
    expect(await storedTransaction(installation.database, id)).toMatchObject({ disposition: Disposition.Voided });
    expect((await installation.switchStats()).strays).toMatchObject({ late: 1 });
  });

  test('that comes before any attempt of the reversal has left gives its DE38 to the first one, and nothing else changes', async () => {
    await install();
    // The line is lost, so the reversal waits until nothing of the original can be on its way.
    scripted.onRequest = (request) => {
      if (request.message.mti === '0200') request.line.socket.destroy();
      else request.answer();
    };
    const { id, sale } = await tapInVain(installation, scripted);
    await eventually(() => expect(scripted.signOns).toHaveLength(2));
    sale.answer({}, { on: newestLine() });
    await untilTold(id, 'late approved');
    expect(await storedTransaction(installation.database, id)).toMatchObject({
      disposition: Disposition.Indeterminate,
      reversalState: ReversalState.owed,
      reversalAttempt: 0,
    });
    await letTimePass(installation.database, id, GUARD_SECONDS + 5);
    const reversal = await scripted.next('0420');
    expect(reversal.message).toMatchObject({ authorizationCode: '123456', reasonCode: '4006' });
    // The switch has answered the original: no reversal can have overtaken it, and one acknowledgement is enough.
    await untilReversal(id, 'acknowledged', 1);
    expect(await afterwards(id)).toEqual(['late approved', ...VOIDED_ONCE]);
  });

  test('that comes while an attempt is on its way: the acknowledgement of that attempt counts no more', async () => {
    await install({ profile: { deadlineMs: 4_000 } });
    scripted.hold('0200', '0420', '0421');
    const { id, sale } = await tapInVain(installation, scripted);
    const first = await scripted.next('0420');
    sale.answer();
    await untilTold(id, 'reversal owed 1');
    first.answer();
    // The next one leaves once the deadline of the first is over, with a DE7 that tells the two apart.
    const second = await scripted.next('0421');
    expect(second.message.transmissionDateTime).not.toBe(first.message.transmissionDateTime);
    expect(await storedTransaction(installation.database, id)).toMatchObject({
      disposition: Disposition.Indeterminate,
      reversalState: ReversalState.sent,
      reversalAttempt: 2,
    });
    second.answer();
    expect(await untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
    expect(await afterwards(id)).toEqual(['reversal sent 1', ...RE_ARMED]);
  });

  test('that comes a thousand times re-arms once and is told once', async () => {
    await install();
    const { id, sale } = await voidedTap();
    for (let copy = 0; copy < 1_000; copy++) sale.answer();
    await eventually(async () => {
      const { strays } = await installation.switchStats();
      expect(strays.late + strays.duplicates + strays.dropped).toBe(1_000);
      expect(strays.late).toBe(1);
    });
    await untilReversal(id, 'acknowledged', 2);
    expect(await afterwards(id)).toEqual([...VOIDED_ONCE, ...RE_ARMED]);
    expect(scripted.of('0421')).toHaveLength(1);
  });

  test('that differs in its amount may be one all the same: the reversal is sent again, without its DE38', async () => {
    await install();
    const { id, sale } = await voidedTap();
    sale.answer({ amountMinor: 999 });
    const again = await scripted.next('0421');
    expect(again.message.reasonCode).toBe('4021');
    expect(again.message).not.toHaveProperty('authorizationCode');
    await untilReversal(id, 'acknowledged', 2);
    expect(await afterwards(id)).toContain('late unknown');
  });
});

describe('a late decline', () => {
  test.each(['51', '70'])('with %s is told and changes nothing: nothing was booked', async (responseCode) => {
    await install();
    const { id, sale } = await voidedTap();
    sale.answer({ responseCode, authorizationCode: undefined });
    await untilTold(id, 'late declined');
    expect(await afterwards(id)).toEqual([...VOIDED_ONCE, 'late declined']);
    expect(await storedTransaction(installation.database, id)).toMatchObject({
      reversalState: ReversalState.acknowledged,
      disposition: Disposition.Voided,
    });
    expect(scripted.of('0421')).toEqual([]);
  });
});

describe('a late response is recognised', () => {
  test('after a restart', async () => {
    await install({ role: 'none' });
    const before = await installation.startGateway();
    const { id, sale } = await voidedTap();
    await before.stop();
    await installation.startGateway();
    sale.answer({}, { on: newestLine() });
    await untilReversal(id, 'acknowledged', 2);
    expect(await afterwards(id)).toEqual(expect.arrayContaining(['late approved', 'reversal owed 1']));
  });

  test('by another worker', async () => {
    await install();
    const other = await installation.startGateway();
    const { id, sale } = await voidedTap();
    expect(newestLine()).not.toBe(sale.line);
    sale.answer({}, { on: newestLine() });
    await untilTold(id, 'late approved');
    expect((await installation.switchStats(other.url)).strays).toMatchObject({ late: 1 });
    // Its own line never carried the original, but the switch has answered it: nothing can be overtaken.
    await untilReversal(id, 'acknowledged', 2);
  });

  test('when it is in time, but came to another worker: once the transaction is decided', async () => {
    await install();
    await installation.startGateway();
    scripted.onRequest = (request) => {
      if (request.message.mti === '0200') request.answer({}, { on: newestLine() });
      else request.answer();
    };
    const { id, sale } = await tapInVain(installation, scripted);
    expect(newestLine()).not.toBe(sale.line);
    await untilTold(id, 'late approved');
    await eventually(async () => {
      expect(await storedTransaction(installation.database, id)).toMatchObject({ disposition: Disposition.Voided });
    });
  });

  test('by DE7 alone where the switch puts a reference of its own into DE37', async () => {
    await install();
    const { id, sale } = await voidedTap();
    sale.answer({ responseCode: '51' }, { change: (response) => Object.assign(response, { rrn: 'BANK00000001' }) });
    await eventually(async () => expect((await afterwards(id)).some((entry) => entry.startsWith('late'))).toBe(true));
  });

  test('but not when it names another terminal, another STAN, neither the time nor the reference, or no STAN at all', async () => {
    await install();
    const { id, sale } = await voidedTap();
    const strangers = [
      { tid: 'TW109999' },
      { stan: '999000' },
      { transmissionDateTime: '0101000000', rrn: 'BANK00000001' },
      { stan: undefined },
    ];
    for (const changes of strangers) sale.answer({}, { change: (response) => Object.assign(response, changes) });
    await eventually(async () => {
      expect((await installation.switchStats()).strays).toMatchObject({ late: 0, unknown: strangers.length });
    });
    expect(await afterwards(id)).toEqual(VOIDED_ONCE);
  });

  test('but not on a line of another acquirer', async () => {
    installation = await startInstallation({ profile: { deadlineMs: 1_000 }, connectTo: async () => scripted.port });
    const { id, sale } = await voidedTap();
    const [stranger] = scripted.lines.filter((line) => line !== sale.line);
    sale.answer({}, { on: stranger });
    await eventually(async () => {
      expect((await installation.switchStats(installation.url, '2 1')).strays).toMatchObject({ late: 0, unknown: 1 });
    });
    expect(await afterwards(id)).toEqual(VOIDED_ONCE);
  });
});
