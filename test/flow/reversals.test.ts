import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/transactions/disposition.ts';
import { REVERSAL_CONFIRMED_AFTER_SECONDS } from '../../src/transactions/time-limits.ts';
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
import { ScriptedSwitch } from '../support/scripted-switch.ts';
import { tapInVain } from '../support/tap-in-vain.ts';
import {
  jobsOf,
  letDoubtPass,
  letTimePass,
  storedTransaction,
  trailOf,
  untilAnswered,
} from '../support/transactions.ts';

const HOURS = 3_600;

let scripted: ScriptedSwitch;
let installation: Installation;

beforeEach(async () => {
  scripted = await ScriptedSwitch.open();
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  await installation.stop();
  await scripted.close();
});

async function install(options: InstallationOptions = {}): Promise<void> {
  const connectTo = async () => scripted.port;
  installation = await startInstallation({ profile: { deadlineMs: 1_000 }, connectTo, ...options });
}

function untilReversal(id: string, state: keyof typeof ReversalState, attempt?: number) {
  return eventually(async () => {
    const stored = await storedTransaction(installation.database, id);
    expect(stored.reversalState).toBe(ReversalState[state]);
    if (attempt !== undefined) expect(stored.reversalAttempt).toBe(attempt);
    return stored;
  });
}

/** Seconds from now to the job of an attempt. */
async function secondsToAttempt(number: number, id: string): Promise<number> {
  const job = (await jobsOf(installation.database, id)).find(({ data }) => data.reversalAttempt === number);
  return (job!.startsAtMs - Date.now()) / 1_000;
}

/** Waits until so many requests have had no answer in time: the sale, and its reversals. */
function untilTimedOut(count: number): Promise<void> {
  return eventually(async () => expect((await installation.switchStats()).timedOut).toBe(count));
}

function jobsStartNow(id: string): Promise<unknown> {
  return installation.database.query(
    "update pgboss.job set start_after = clock_timestamp() where state < 'active' and data ->> 'id' = $1",
    [id],
  );
}

/** What the trail tells of the reversal. */
async function reversalTrail(id: string): Promise<string[]> {
  return (await trailOf(installation.database, id)).filter((entry) => entry.startsWith('reversal'));
}

describe('a reversal does not overtake its original', () => {
  test('of many taps on several connections, each one is followed at once by its reversal on its own', async () => {
    await install({ config: { connectionsPerAddress: 3, balance: 'least-in-flight' } });
    scripted.hold('0200');
    const taps = await Promise.all(Array.from({ length: 6 }, () => tapInVain(installation, scripted)));
    expect(new Set(taps.map(({ sale }) => sale.line)).size).toBe(3);
    for (const { id, sale } of taps) {
      await untilReversal(id, 'acknowledged', 1);
      const reversal = scripted.of('0420').find(({ message }) => message.rrn === sale.message.rrn);
      expect(reversal?.line).toBe(sale.line);
    }
  });

  test('the gateway whose connection carried the original sends the reversal, however many others look for work', async () => {
    // So many taps at once are on the wire within three seconds on any machine; within one they are not on all.
    await install({ profile: { deadlineMs: 3_000 } });
    await installation.startGateway();
    scripted.hold('0200');
    // More than one gateway sends at a time.
    const taps = await Promise.all(Array.from({ length: 80 }, () => tapInVain(installation, scripted)));
    for (const { id, sale } of taps) {
      await untilReversal(id, 'acknowledged', 1);
      expect(scripted.of('0420').find(({ message }) => message.rrn === sale.message.rrn)?.line).toBe(sale.line);
    }
  });

  test('once the switch has answered the original, however strangely, any line will do at once', async () => {
    await install();
    scripted.onRequest = ({ message, answer }) => {
      if (message.mti === '0200') answer({ responseCode: '09', authorizationCode: undefined });
    };
    const { id, sale } = await tapInVain(installation, scripted);
    await scripted.next('0420');
    scripted.cut(sale.line);
    await letTimePass(installation.database, id, 6);
    const repeat = await scripted.next('0421');
    expect(repeat.line).not.toBe(sale.line);
    repeat.answer();
    await untilReversal(id, 'acknowledged', 2);
  });

  test('an acknowledgement on another line is asked for once more a minute later, and only then the sale is Voided', async () => {
    await install();
    scripted.onRequest = ({ message, line, answer }) => {
      if (message.mti === '0200') line.socket.destroy();
      else answer();
    };
    const { id } = await tapInVain(installation, scripted);
    await eventually(async () => expect(await secondsToAttempt(1, id)).toBeGreaterThan(50));
    expect(await secondsToAttempt(1, id)).toBeLessThan(GUARD_SECONDS + 2);
    await letTimePass(installation.database, id, GUARD_SECONDS + 2);
    const doubted = await untilReversal(id, 'confirming', 1);
    expect(doubted.disposition).toBe(Disposition.Indeterminate);
    expect(await secondsToAttempt(2, id)).toBeGreaterThan(REVERSAL_CONFIRMED_AFTER_SECONDS - 5);
    await letDoubtPass(installation.database, id);
    expect(await untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
    expect(scripted.of('0421')).toHaveLength(1);
  });

  test('"unable to locate" is asked for once more a minute later, too', async () => {
    await install();
    scripted.onRequest = ({ message, answer }) => {
      if (message.mti !== '0200') answer({ responseCode: '25', authorizationCode: undefined });
    };
    const { id } = await tapInVain(installation, scripted);
    expect(await untilReversal(id, 'confirming', 1)).toMatchObject({ disposition: Disposition.Indeterminate });
    expect(await secondsToAttempt(2, id)).toBeGreaterThan(REVERSAL_CONFIRMED_AFTER_SECONDS - 5);
    // The job of a repeat may have been taken just before the answer came: it must wait out the minute, too.
    await jobsStartNow(id);
    await eventually(async () =>
      expect(await secondsToAttempt(2, id)).toBeGreaterThan(REVERSAL_CONFIRMED_AFTER_SECONDS / 2),
    );
    expect(scripted.of('0421')).toHaveLength(0);
    await letDoubtPass(installation.database, id);
    expect(await untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
    expect(await reversalTrail(id)).toEqual([
      'reversal sent 1',
      'reversal confirming 1',
      'reversal sent 2',
      'reversal acknowledged 2',
    ]);
  });
});

describe('a reversal is repeated until the switch takes it', () => {
  test('after no answer and after a refusal by the schedule, as 0421 with the original data, until the third is acknowledged', async () => {
    await install();
    scripted.hold('0200', '0420', '0421');
    const { id, sale } = await tapInVain(installation, scripted);
    const first = await scripted.next('0420');
    await untilReversal(id, 'sent', 1);
    expect(await secondsToAttempt(2, id)).toBeGreaterThan(2);
    expect(await secondsToAttempt(2, id)).toBeLessThan(5.5);
    await untilTimedOut(2);

    await letTimePass(installation.database, id, 5);
    const second = await scripted.next('0421');
    second.answer({ responseCode: '91', authorizationCode: undefined });
    expect(await secondsToAttempt(3, id)).toBeGreaterThan(25);

    await letTimePass(installation.database, id, 30);
    const third = await scripted.next('0421');
    expect(await storedTransaction(installation.database, id)).toMatchObject({
      disposition: Disposition.Indeterminate,
    });
    third.answer();
    expect(await untilReversal(id, 'acknowledged', 3)).toMatchObject({ disposition: Disposition.Voided });

    const { stan, transmissionDateTime, rrn } = sale.message;
    for (const { message } of [first, second, third]) {
      expect(message).toMatchObject({ stan, rrn, reasonCode: '4021' });
      expect(message.originalElements).toMatch(new RegExp(`^0200${stan}${transmissionDateTime}`));
    }
    await eventually(async () => expect(await jobsOf(installation.database, id)).toEqual([]));
    expect(scripted.of('0421')).toHaveLength(2);
  });

  test('an acknowledgement that comes after its own deadline counts, and nothing more is sent', async () => {
    await install();
    scripted.hold('0200', '0420');
    const { id } = await tapInVain(installation, scripted);
    const first = await scripted.next('0420');
    await untilTimedOut(2);
    first.answer();
    await untilReversal(id, 'acknowledged', 1);
    expect(await reversalTrail(id)).toEqual(['reversal sent 1', 'reversal acknowledged 1']);
    await eventually(async () => expect(await jobsOf(installation.database, id)).toEqual([]));
    expect(scripted.of('0421')).toEqual([]);
  });

  test('an acknowledgement of an earlier attempt counts after the next one has left', async () => {
    await install();
    scripted.hold('0200', '0420', '0421');
    const { id } = await tapInVain(installation, scripted);
    const first = await scripted.next('0420');
    await untilTimedOut(2);
    await letTimePass(installation.database, id, 5);
    await scripted.next('0421');
    first.answer();
    expect(await untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
    expect((await reversalTrail(id)).at(-1)).toBe('reversal acknowledged 1');
  });

  test('DE38 of an approval that cannot be used goes with its reversal', async () => {
    await install();
    scripted.onRequest = ({ message, answer }) => answer(message.mti === '0200' ? { amountMinor: 999 } : {});
    const { id } = await tapInVain(installation, scripted);
    const { message } = await scripted.next('0420');
    expect(message).toMatchObject({ authorizationCode: '123456', reasonCode: '4020' });
    await untilReversal(id, 'acknowledged', 1);
  });

  test('an attempt of which no byte left is taken back and does not count', async () => {
    await install();
    scripted.hold('0200', '0420');
    const { id, sale } = await tapInVain(installation, scripted);
    await scripted.next('0420');
    await untilReversal(id, 'sent', 1);
    await untilAnswered(installation.database, id);

    // The attempt's commit waits for this lock; the line is lost meanwhile.
    const locking = await installation.database.connect();
    await locking.query('begin');
    await locking.query('select from transactions where id = $1 for update', [id]);
    await installation.database.query(`update pgboss.job set start_after = now() where data ->> 'id' = $1::text`, [id]);
    await eventually(async () => {
      const { rowCount } = await installation.database.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBeGreaterThan(0);
    });
    scripted.cut(sale.line);
    await eventually(() => expect(scripted.lines.length).toBeGreaterThan(1)); // it has dialled again
    await locking.query('commit');
    locking.release();

    await eventually(async () => expect(await reversalTrail(id)).toContain('reversal unsent 2'));
    expect(await storedTransaction(installation.database, id)).toMatchObject({
      reversalAttempt: 1,
      reversalState: ReversalState.sent,
    });
    expect(scripted.of('0421')).toEqual([]);
    await letTimePass(installation.database, id, GUARD_SECONDS + 10);
    await untilReversal(id, 'confirming', 2);
    expect(scripted.of('0421')).toHaveLength(1);
  });
});

describe('when the time for a reversal is over', () => {
  test('the last attempt was in vain: a person is called, and nothing more is sent', async () => {
    await install();
    scripted.hold('0200', '0420', '0421');
    const { id } = await tapInVain(installation, scripted);
    await untilAnswered(installation.database, id);
    await scripted.next('0420');
    await untilTimedOut(2);
    expect(faultsIn(installation.logLines)).toEqual([]);
    await letTimePass(installation.database, id, 73 * HOURS);
    await scripted.next('0421');
    await eventually(() =>
      expect(faultsIn(installation.logLines)).toMatchObject([
        { id, msg: expect.stringContaining('a person must look') },
      ]),
    );
    expect(await untilReversal(id, 'needsReview', 2)).toMatchObject({
      needsReview: true,
      disposition: Disposition.Indeterminate,
    });
    await eventually(async () => expect(await jobsOf(installation.database, id)).toEqual([]));
  });

  test('no line was there: a person is called, and the reversal is still sent when one returns', async () => {
    await install();
    scripted.hold('0200', '0420');
    const { id } = await tapInVain(installation, scripted);
    await scripted.next('0420');
    await untilReversal(id, 'sent', 1);
    const { port } = scripted;
    await scripted.stopListening();
    await letTimePass(installation.database, id, 73 * HOURS);
    expect(await untilReversal(id, 'needsReview', 1)).toMatchObject({ needsReview: true });
    await eventually(() => expect(faultsIn(installation.logLines)).toMatchObject([{ id }]));

    await scripted.listenAgain(port);
    await eventually(async () => {
      await letTimePass(installation.database, id, 300);
      expect(scripted.of('0421').length).toBeGreaterThan(0);
    });
    await letDoubtPass(installation.database, id);
    const voided = await untilReversal(id, 'acknowledged');
    expect(voided).toMatchObject({ disposition: Disposition.Voided, needsReview: true });
    expect(faultsIn(installation.logLines)).toHaveLength(1);
  });
});

describe('a reversal that cannot be built', () => {
  /** A seal begins with its version, the length of its key's id and that id. Done twice, it is as before. */
  const OTHER_KEY = 'sealed_card = set_byte(sealed_card, 2, get_byte(sealed_card, 2) # 1)';

  /** The reversal's first attempt is out and its repeat is due; `change` happens to the row before that. */
  async function repeatAfter(change: string, seconds: number): Promise<string> {
    await install();
    scripted.hold('0200', '0420');
    const { id } = await tapInVain(installation, scripted);
    await untilAnswered(installation.database, id);
    await untilReversal(id, 'sent', 1);
    await untilTimedOut(2);
    await installation.database.query(`update transactions set ${change} where id = $1`, [id]);
    await letTimePass(installation.database, id, seconds);
    return id;
  }

  const alarms = () => faultsIn(installation.logLines).filter(({ msg }) => msg.includes('a person must look'));

  test('because its card data is not kept any more calls a person at once, and its job ends', async () => {
    const id = await repeatAfter('sealed_card = null', 10);
    expect(await untilReversal(id, 'needsReview', 1)).toMatchObject({
      needsReview: true,
      disposition: Disposition.Indeterminate,
    });
    await eventually(async () => expect(await jobsOf(installation.database, id)).toEqual([]));
    expect(alarms()).toMatchObject([{ id, reason: 'NOT_KEPT' }]);
    expect(scripted.of('0421')).toEqual([]);
  });

  test('because the key of its card data is gone calls a person at once, and is sent when the key is back', async () => {
    const id = await repeatAfter(OTHER_KEY, 10);
    await untilReversal(id, 'needsReview', 1);
    expect(alarms()).toMatchObject([{ id, reason: 'KEY_GONE' }]);
    expect(await jobsOf(installation.database, id)).toMatchObject([{ queue: 'reverse' }]);
    await installation.database.query(`update transactions set ${OTHER_KEY} where id = $1`, [id]);
    await letTimePass(installation.database, id, 60);
    expect(await untilReversal(id, 'acknowledged', 2)).toMatchObject({ needsReview: true });
    expect(alarms()).toHaveLength(1);
  });
});
