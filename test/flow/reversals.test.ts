import { describe, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { REVERSAL_CONFIRMED_AFTER_SECONDS } from '../../src/payments/model/time-limits.ts';
import { ReversalState } from '../../src/payments/model/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { GUARD_SECONDS } from '../support/installation.ts';
import { faultsIn } from '../support/log-lines.ts';
import { scriptedInstallation } from '../support/scripted-installation.ts';
import { jobsOf, letDoubtPass, untilResponded } from '../support/transactions.ts';

const HOURS = 3_600;

const scene = scriptedInstallation();

function jobsStartNow(id: string): Promise<unknown> {
  return scene.installation.database.query(
    "update pgboss.job set start_after = clock_timestamp() where state < 'active' and data ->> 'id' = $1",
    [id],
  );
}

describe('a reversal does not overtake its original', () => {
  test('many taps on several connections are reversed immediately, each on its own connection', async () => {
    await scene.installOwn({ config: { connectionsPerAddress: 3, balance: 'least-in-flight' } });
    scene.scripted.hold('0200');
    const taps = await Promise.all(Array.from({ length: 6 }, () => scene.tapInVain()));
    expect(new Set(taps.map(({ sale }) => sale.line)).size).toBe(3);
    for (const { id, sale } of taps) {
      await scene.untilReversal(id, 'acknowledged', 1);
      const reversal = scene.scripted.of('0420').find(({ message }) => message.rrn === sale.message.rrn);
      expect(reversal?.line).toBe(sale.line);
    }
  });

  test('the gateway whose connection carried the original sends the reversal, even if many others look for work', async () => {
    // On any machine these taps are all on the wire within ten seconds, but not always within three.
    await scene.installOwn({ profile: { deadlineMs: 10_000 } });
    await scene.installation.startGateway();
    scene.scripted.hold('0200');
    // More than one gateway sends at a time.
    const taps = await Promise.all(Array.from({ length: 80 }, () => scene.tapInVain()));
    for (const { id, sale } of taps) {
      await scene.untilReversal(id, 'acknowledged', 1);
      expect(scene.scripted.of('0420').find(({ message }) => message.rrn === sale.message.rrn)?.line).toBe(sale.line);
    }
  });

  test('every connection can be used for a reversal immediately after any response of the switch to the original', async () => {
    await scene.install();
    scene.scripted.onRequest = ({ message, respond }) => {
      if (message.mti === '0200') respond({ responseCode: '09', authorizationCode: undefined });
    };
    const { id, sale } = await scene.tapInVain();
    await scene.scripted.next('0420');
    scene.scripted.cut(sale.line);
    await scene.letTimePass(id, 6);
    const repeat = await scene.scripted.next('0421');
    expect(repeat.line).not.toBe(sale.line);
    repeat.respond();
    await scene.untilReversal(id, 'acknowledged', 2);
  });

  test('an acknowledgement on another connection is requested once more a minute later, and only then the sale is Voided', async () => {
    await scene.install();
    scene.scripted.onRequest = ({ message, line, respond }) => {
      if (message.mti === '0200') line.socket.destroy();
      else respond();
    };
    const { id } = await scene.tapInVain();
    await eventually(async () => expect(await scene.secondsToAttempt(1, id)).toBeGreaterThan(GUARD_SECONDS - 1));
    expect(await scene.secondsToAttempt(1, id)).toBeLessThan(GUARD_SECONDS * 1.5);
    await scene.letTimePass(id, GUARD_SECONDS + 2);
    const doubted = await scene.untilReversal(id, 'confirming', 1);
    expect(doubted.disposition).toBe(Disposition.Indeterminate);
    expect(await scene.secondsToAttempt(2, id)).toBeGreaterThan(REVERSAL_CONFIRMED_AFTER_SECONDS - 5);
    await letDoubtPass(scene.installation.database, id);
    expect(await scene.untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
    expect(scene.scripted.of('0421')).toHaveLength(1);
  });

  test('"unable to locate" is requested once more a minute later, too', async () => {
    await scene.install();
    scene.scripted.onRequest = ({ message, respond }) => {
      if (message.mti !== '0200') respond({ responseCode: '25', authorizationCode: undefined });
    };
    const { id } = await scene.tapInVain();
    expect(await scene.untilReversal(id, 'confirming', 1)).toMatchObject({ disposition: Disposition.Indeterminate });
    expect(await scene.secondsToAttempt(2, id)).toBeGreaterThan(REVERSAL_CONFIRMED_AFTER_SECONDS - 5);
    // The job of a repeat may have started just before the response arrived: it must also wait the minute.
    await jobsStartNow(id);
    await eventually(async () =>
      expect(await scene.secondsToAttempt(2, id)).toBeGreaterThan(REVERSAL_CONFIRMED_AFTER_SECONDS / 2),
    );
    expect(scene.scripted.of('0421')).toHaveLength(0);
    await letDoubtPass(scene.installation.database, id);
    expect(await scene.untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
    expect(await scene.afterwards(id)).toEqual([
      'reversal sent 1',
      'reversal confirming 1',
      'reversal sent 2',
      'reversal acknowledged 2',
    ]);
  });
});

describe('a reversal is repeated until the switch accepts it', () => {
  test('a reversal is repeated after no response and after a refusal on the schedule, as 0421 with the original data, until the third is acknowledged', async () => {
    await scene.install();
    scene.scripted.hold('0200', '0420', '0421');
    const { id, sale } = await scene.tapInVain();
    const first = await scene.scripted.next('0420');
    await scene.untilReversal(id, 'sent', 1);
    expect(await scene.secondsToAttempt(2, id)).toBeGreaterThan(2);
    expect(await scene.secondsToAttempt(2, id)).toBeLessThan(5.5);
    await scene.untilTimedOut(2);

    await scene.letTimePass(id, 5);
    const second = await scene.scripted.next('0421');
    second.respond({ responseCode: '91', authorizationCode: undefined });
    expect(await scene.secondsToAttempt(3, id)).toBeGreaterThan(25);

    await scene.letTimePass(id, 30);
    const third = await scene.scripted.next('0421');
    expect(await scene.stored(id)).toMatchObject({
      disposition: Disposition.Indeterminate,
    });
    third.respond();
    expect(await scene.untilReversal(id, 'acknowledged', 3)).toMatchObject({ disposition: Disposition.Voided });

    const { stan, transmissionDateTime, rrn } = sale.message;
    for (const { message } of [first, second, third]) {
      expect(message).toMatchObject({ stan, rrn, reasonCode: '4021' });
      expect(message.originalElements).toMatch(new RegExp(`^0200${stan}${transmissionDateTime}`));
    }
    await scene.untilAtRest(id);
    expect(scene.scripted.of('0421')).toHaveLength(2);
  });

  test('an acknowledgement that arrives after its own deadline counts, and nothing further is sent', async () => {
    await scene.install();
    scene.scripted.hold('0200', '0420');
    const { id } = await scene.tapInVain();
    const first = await scene.scripted.next('0420');
    await scene.untilTimedOut(2);
    first.respond();
    await scene.untilReversal(id, 'acknowledged', 1);
    expect(await scene.afterwards(id)).toEqual(['reversal sent 1', 'reversal acknowledged 1']);
    await scene.untilAtRest(id);
    expect(scene.scripted.of('0421')).toEqual([]);
  });

  test('an acknowledgement of an earlier attempt counts after the next one was sent', async () => {
    await scene.install();
    scene.scripted.hold('0200', '0420', '0421');
    const { id } = await scene.tapInVain();
    const first = await scene.scripted.next('0420');
    await scene.untilTimedOut(2);
    await scene.letTimePass(id, 5);
    await scene.scripted.next('0421');
    first.respond();
    expect(await scene.untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
    expect((await scene.afterwards(id)).at(-1)).toBe('reversal acknowledged 1');
  });

  test('DE38 of an approval that cannot be used is in its reversal', async () => {
    await scene.install();
    scene.scripted.onRequest = ({ message, respond }) => respond(message.mti === '0200' ? { amountMinor: 999 } : {});
    const { id } = await scene.tapInVain();
    const { message } = await scene.scripted.next('0420');
    expect(message).toMatchObject({ authorizationCode: '123456', reasonCode: '4020' });
    await scene.untilReversal(id, 'acknowledged', 1);
  });

  test('an attempt of which no byte was sent is undone and does not count', async () => {
    await scene.install();
    scene.scripted.hold('0200', '0420');
    const { id, sale } = await scene.tapInVain();
    await scene.scripted.next('0420');
    await scene.untilReversal(id, 'sent', 1);
    await untilResponded(scene.installation.database, id);

    // The attempt's commit waits for this lock; the connection is lost meanwhile.
    const locking = await scene.installation.database.connect();
    await locking.query('begin');
    await locking.query('select from transactions where id = $1 for update', [id]);
    await scene.installation.database.query(
      `update pgboss.job set start_after = now() where data ->> 'id' = $1::text`,
      [id],
    );
    await eventually(async () => {
      const { rowCount } = await scene.installation.database.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBeGreaterThan(0);
    });
    const lines = scene.scripted.lines.length;
    scene.scripted.cut(sale.line);
    await eventually(() => expect(scene.scripted.lines.length).toBeGreaterThan(lines)); // it has connected again
    await locking.query('commit');
    locking.release();

    await eventually(async () => expect(await scene.afterwards(id)).toContain('reversal unsent 2'));
    expect(await scene.stored(id)).toMatchObject({
      reversalAttempt: 1,
      reversalState: ReversalState.sent,
    });
    expect(scene.scripted.of('0421')).toEqual([]);
    await scene.letTimePass(id, GUARD_SECONDS + 10);
    await scene.untilReversal(id, 'confirming', 2);
    expect(scene.scripted.of('0421')).toHaveLength(1);
  });
});

describe('when the time for a reversal is over', () => {
  test('the last attempt failed: it needs review, and nothing further is sent', async () => {
    await scene.install();
    scene.scripted.hold('0200', '0420', '0421');
    const { id } = await scene.tapInVain();
    await untilResponded(scene.installation.database, id);
    await scene.scripted.next('0420');
    await scene.untilTimedOut(2);
    expect(faultsIn(scene.installation.logLines)).toEqual([]);
    await scene.letTimePass(id, 73 * HOURS);
    await scene.scripted.next('0421');
    await eventually(() =>
      expect(faultsIn(scene.installation.logLines)).toMatchObject([
        { id, msg: expect.stringContaining('needs review') },
      ]),
    );
    expect(await scene.untilReversal(id, 'needsReview', 2)).toMatchObject({
      needsReview: true,
      disposition: Disposition.Indeterminate,
    });
    await scene.untilAtRest(id);
  });

  test('no connection was available: it needs review, and the reversal is still sent when one returns', async () => {
    await scene.installOwn();
    scene.scripted.hold('0200', '0420');
    const { id } = await scene.tapInVain();
    await scene.scripted.next('0420');
    await scene.untilReversal(id, 'sent', 1);
    const { port } = scene.scripted;
    await scene.scripted.stopListening();
    await scene.letTimePass(id, 73 * HOURS);
    expect(await scene.untilReversal(id, 'needsReview', 1)).toMatchObject({ needsReview: true });
    await eventually(() => expect(faultsIn(scene.installation.logLines)).toMatchObject([{ id }]));

    await scene.scripted.listenAgain(port);
    await eventually(async () => {
      await scene.letTimePass(id, 300);
      expect(scene.scripted.of('0421').length).toBeGreaterThan(0);
    });
    await letDoubtPass(scene.installation.database, id);
    const voided = await scene.untilReversal(id, 'acknowledged');
    expect(voided).toMatchObject({ disposition: Disposition.Voided, needsReview: true });
    expect(faultsIn(scene.installation.logLines)).toHaveLength(1);
  });
});

describe('a reversal that cannot be built', () => {
  /** A seal begins with its version, the length of its key's id and that id. Doing this twice restores the seal. */
  const OTHER_KEY = 'sealed_card = set_byte(sealed_card, 2, get_byte(sealed_card, 2) # 1)';

  /** The reversal's first attempt was sent and its repeat is due; `change` is applied to the row before that. */
  async function repeatAfter(change: string, seconds: number): Promise<string> {
    await scene.install();
    scene.scripted.hold('0200', '0420');
    const { id } = await scene.tapInVain();
    await untilResponded(scene.installation.database, id);
    await scene.untilReversal(id, 'sent', 1);
    await scene.untilTimedOut(2);
    await scene.installation.database.query(`update transactions set ${change} where id = $1`, [id]);
    await scene.letTimePass(id, seconds);
    return id;
  }

  const alarms = () => faultsIn(scene.installation.logLines).filter(({ msg }) => msg.includes('needs review'));

  test('a reversal that cannot be built because its card data was purged needs review immediately, and its job ends', async () => {
    const id = await repeatAfter('sealed_card = null', 10);
    expect(await scene.untilReversal(id, 'needsReview', 1)).toMatchObject({
      needsReview: true,
      disposition: Disposition.Indeterminate,
    });
    await scene.untilAtRest(id);
    expect(alarms()).toMatchObject([{ id, reason: 'NOT_KEPT' }]);
    expect(scene.scripted.of('0421')).toEqual([]);
  });

  test('a reversal that cannot be built because the key of its card data is missing needs review immediately, and is sent when the key is back', async () => {
    const id = await repeatAfter(OTHER_KEY, 10);
    await scene.untilReversal(id, 'needsReview', 1);
    expect(alarms()).toMatchObject([{ id, reason: 'KEY_GONE' }]);
    expect(await jobsOf(scene.installation.database, id)).toMatchObject([{ queue: 'reverse' }]);
    await scene.installation.database.query(`update transactions set ${OTHER_KEY} where id = $1`, [id]);
    await scene.letTimePass(id, 60);
    expect(await scene.untilReversal(id, 'acknowledged', 2)).toMatchObject({ needsReview: true });
    expect(alarms()).toHaveLength(1);
  });
});
