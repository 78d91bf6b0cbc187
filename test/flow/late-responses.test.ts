import { afterEach, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { GUARD_SECONDS } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { scriptedInstallation } from '../support/scripted-installation.ts';
import type { ScriptedLine } from '../support/scripted-switch.ts';
import type { TapInVain } from '../support/tap-in-vain.ts';
import { untilResponded } from '../support/transactions.ts';

const scene = scriptedInstallation();
afterEach(() => expect(faultsIn(scene.installation.logLines)).toEqual([]));

/** A tap to which the switch did not respond, and whose reversal it has acknowledged. */
async function voidedTap(): Promise<TapInVain> {
  scene.scripted.hold('0200');
  const tap = await scene.tapInVain();
  await scene.untilReversal(tap.id, 'acknowledged', 1);
  await untilResponded(scene.installation.database, tap.id);
  return tap;
}

function untilRecorded(id: string, entry: string): Promise<void> {
  return eventually(async () => expect(await scene.afterwards(id)).toContain(entry));
}

/** The newest connection. */
function newestLine(): ScriptedLine {
  return scene.scripted.lines.at(-1)!;
}

const RE_ARMED = ['late approved', 'reversal owed 1', 'reversal sent 2', 'reversal acknowledged 2'];
const VOIDED_ONCE = ['reversal sent 1', 'reversal acknowledged 1'];

describe('a late approval', () => {
  test('a late approval of a Voided transaction has it reversed again, immediately, and leaves it Voided', async () => {
    await scene.install();
    const { id, sale } = await voidedTap();
    sale.respond();
    const again = await scene.scripted.next('0421');
    expect(again.message).toMatchObject({ authorizationCode: '123456', reasonCode: '4006' });
    expect(again.line).toBe(sale.line);
    await scene.untilReversal(id, 'acknowledged', 2);
    expect(await scene.afterwards(id)).toEqual([...VOIDED_ONCE, ...RE_ARMED]);
    expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Voided });
    expect(await scene.counters()).toMatchObject({ late: 1 });
  });

  test('a late approval that arrives before any attempt of the reversal was sent gives its DE38 to the first one, and changes nothing else', async () => {
    await scene.install();
    // The connection is lost, so the reversal waits until nothing of the original can be in transit.
    scene.scripted.onRequest = (request) => {
      if (request.message.mti === '0200') request.line.socket.destroy();
      else request.respond();
    };
    const signOns = scene.scripted.signOns.length;
    const { id, sale } = await scene.tapInVain();
    await eventually(() => expect(scene.scripted.signOns.length).toBeGreaterThan(signOns));
    // Its job has looked, and waits. A job that looks after the response does not have to.
    await eventually(async () => {
      const [job] = await scene.jobs(id, 'reverse');
      expect(job!.startsAtMs).toBeGreaterThan(Date.now() + 5_000);
    });
    sale.respond({}, { on: newestLine() });
    await untilRecorded(id, 'late approved');
    expect(await scene.stored(id)).toMatchObject({
      disposition: Disposition.Indeterminate,
      reversalState: ReversalState.owed,
      reversalAttempt: 0,
    });
    await scene.letTimePass(id, GUARD_SECONDS + 5);
    const reversal = await scene.scripted.next('0420');
    expect(reversal.message).toMatchObject({ authorizationCode: '123456', reasonCode: '4006' });
    // The switch has responded to the original: no reversal can have overtaken it, and one acknowledgement is enough.
    await scene.untilReversal(id, 'acknowledged', 1);
    expect(await scene.afterwards(id)).toEqual(['late approved', ...VOIDED_ONCE]);
  });

  test('a late approval that arrives while an attempt is in transit: the acknowledgement of that attempt no longer counts', async () => {
    await scene.installOwn({ profile: { deadlineMs: 4_000 } });
    scene.scripted.hold('0200', '0420', '0421');
    const { id, sale } = await scene.tapInVain();
    const first = await scene.scripted.next('0420');
    sale.respond();
    await untilRecorded(id, 'reversal owed 1');
    first.respond();
    // The next one is sent after the deadline of the first, with a DE7 that distinguishes the two.
    const second = await scene.scripted.next('0421');
    expect(second.message.transmissionDateTime).not.toBe(first.message.transmissionDateTime);
    expect(await scene.stored(id)).toMatchObject({
      disposition: Disposition.Indeterminate,
      reversalState: ReversalState.sent,
      reversalAttempt: 2,
    });
    second.respond();
    expect(await scene.untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
    expect(await scene.afterwards(id)).toEqual(['reversal sent 1', ...RE_ARMED]);
  });

  test('a late approval that arrives a thousand times re-arms once and is reported once', async () => {
    await scene.install();
    const { id, sale } = await voidedTap();
    for (let copy = 0; copy < 1_000; copy++) sale.respond();
    await eventually(async () => {
      const { late, duplicates, dropped } = await scene.counters();
      expect(late + duplicates + dropped).toBe(1_000);
      expect(late).toBe(1);
    });
    await scene.untilReversal(id, 'acknowledged', 2);
    expect(await scene.afterwards(id)).toEqual([...VOIDED_ONCE, ...RE_ARMED]);
    expect(scene.scripted.of('0421')).toHaveLength(1);
  });

  test('a late approval that differs in its amount may still be one: the reversal is sent again, without its DE38', async () => {
    await scene.install();
    const { id, sale } = await voidedTap();
    sale.respond({ amountMinor: 999 });
    const again = await scene.scripted.next('0421');
    expect(again.message.reasonCode).toBe('4021');
    expect(again.message).not.toHaveProperty('authorizationCode');
    await scene.untilReversal(id, 'acknowledged', 2);
    expect(await scene.afterwards(id)).toContain('late unknown');
  });
});

describe('a late decline', () => {
  test.each([
    '51',
    '70',
  ])('a late decline with %s is reported and changes nothing: nothing was booked', async (responseCode) => {
    await scene.install();
    const { id, sale } = await voidedTap();
    sale.respond({ responseCode, authorizationCode: undefined });
    await untilRecorded(id, 'late declined');
    expect(await scene.afterwards(id)).toEqual([...VOIDED_ONCE, 'late declined']);
    expect(await scene.stored(id)).toMatchObject({
      reversalState: ReversalState.acknowledged,
      disposition: Disposition.Voided,
    });
    expect(scene.scripted.of('0421')).toEqual([]);
  });
});

describe('a late response is recognized', () => {
  test('a late response is recognized after a restart', async () => {
    await scene.installOwn({ role: 'none' });
    const before = await scene.installation.startGateway();
    const { id, sale } = await voidedTap();
    await before.stop();
    await scene.installation.startGateway();
    sale.respond({}, { on: newestLine() });
    await scene.untilReversal(id, 'acknowledged', 2);
    expect(await scene.afterwards(id)).toEqual(expect.arrayContaining(['late approved', 'reversal owed 1']));
  });

  test('a late response is recognized on another worker', async () => {
    await scene.installOwn();
    const other = await scene.installation.startGateway();
    const { id, sale } = await voidedTap();
    expect(newestLine()).not.toBe(sale.line);
    sale.respond({}, { on: newestLine() });
    await untilRecorded(id, 'late approved');
    expect((await scene.installation.switchStats(other.url)).unmatchedResponses).toMatchObject({ late: 1 });
    // Its own connection never carried the original, but the switch has responded to it: nothing can be overtaken.
    await scene.untilReversal(id, 'acknowledged', 2);
  });

  test('a late response is recognized if it is in time, but arrived at another worker: after the transaction is decided', async () => {
    await scene.installOwn();
    await scene.installation.startGateway();
    scene.scripted.onRequest = (request) => {
      if (request.message.mti === '0200') request.respond({}, { on: newestLine() });
      else request.respond();
    };
    const { id, sale } = await scene.tapInVain();
    expect(newestLine()).not.toBe(sale.line);
    await untilRecorded(id, 'late approved');
    await eventually(async () => {
      expect(await scene.stored(id)).toMatchObject({ disposition: Disposition.Voided });
    });
  });

  test('a late response is recognized from DE7 alone if the switch puts its own reference into DE37', async () => {
    await scene.install();
    const { id, sale } = await voidedTap();
    sale.respond({ responseCode: '51' }, { change: (response) => Object.assign(response, { rrn: 'BANK00000001' }) });
    await eventually(async () =>
      expect((await scene.afterwards(id)).some((entry) => entry.startsWith('late'))).toBe(true),
    );
  });

  test('a late response is not recognized if it names another terminal, another STAN, neither the time nor the reference, or no STAN at all', async () => {
    await scene.install();
    const { id, sale } = await voidedTap();
    const strangers = [
      { tid: 'TW109999' },
      { stan: '999000' },
      { transmissionDateTime: '0101000000', rrn: 'BANK00000001' },
      { stan: undefined },
    ];
    for (const changes of strangers) sale.respond({}, { change: (response) => Object.assign(response, changes) });
    await eventually(async () => {
      expect(await scene.counters()).toMatchObject({ late: 0, unknown: strangers.length });
    });
    expect(await scene.afterwards(id)).toEqual(VOIDED_ONCE);
  });

  test('a late response is not recognized on a connection of another acquirer', async () => {
    await scene.installOwn({ hasBothAcquirers: true });
    const { id, sale } = await voidedTap();
    const [stranger] = scene.scripted.lines.filter((line) => line !== sale.line);
    sale.respond({}, { on: stranger });
    await eventually(async () => {
      expect((await scene.installation.switchStats(scene.installation.url, '2 1')).unmatchedResponses).toMatchObject({
        late: 0,
        unknown: 1,
      });
    });
    expect(await scene.afterwards(id)).toEqual(VOIDED_ONCE);
  });
});
