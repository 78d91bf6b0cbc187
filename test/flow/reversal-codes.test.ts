import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Disposition } from '../../src/transactions/disposition.ts';
import { ReversalState } from '../../src/transactions/transaction.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { ScriptedSwitch } from '../support/scripted-switch.ts';
import { tapInVain } from '../support/tap-in-vain.ts';
import { letDoubtPass, letTimePass, storedTransaction } from '../support/transactions.ts';

let scripted: ScriptedSwitch;
let installation: Installation;

beforeEach(async () => {
  scripted = await ScriptedSwitch.open();
  const connectTo = async () => scripted.port;
  installation = await startInstallation({ profile: { deadlineMs: 1_000 }, connectTo });
  scripted.hold('0200', '0420', '0421');
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  await installation.stop();
  await scripted.close();
});

function untilReversal(id: string, state: keyof typeof ReversalState, attempt: number) {
  return eventually(async () => {
    const stored = await storedTransaction(installation.database, id);
    expect(stored).toMatchObject({ reversalState: ReversalState[state], reversalAttempt: attempt });
    return stored;
  });
}

async function answerTo(mti: string, responseCode: string): Promise<void> {
  (await scripted.next(mti)).answer({ responseCode, authorizationCode: undefined });
}

describe('code 21, no action taken,', () => {
  test('leaves a doubt: the reversal is confirmed by one more', async () => {
    const { id } = await tapInVain(installation, scripted);
    await answerTo('0420', '21');
    expect(await untilReversal(id, 'confirming', 1)).toMatchObject({ disposition: Disposition.Indeterminate });
    await letDoubtPass(installation.database, id);
    await answerTo('0421', '21');
    expect(await untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
  });
});

describe('code 94, duplicate transmission,', () => {
  test('does not acknowledge the first attempt', async () => {
    const { id } = await tapInVain(installation, scripted);
    await answerTo('0420', '94');
    await eventually(async () => expect((await installation.switchStats()).answered).toBeGreaterThan(1));
    await letTimePass(installation.database, id, 10);
    const repeat = await scripted.next('0421');
    expect(await storedTransaction(installation.database, id)).toMatchObject({
      disposition: Disposition.Indeterminate,
      reversalState: ReversalState.sent,
    });
    repeat.answer();
    await untilReversal(id, 'acknowledged', 2);
  });

  test('acknowledges a repeat of an attempt that had no answer', async () => {
    const { id } = await tapInVain(installation, scripted);
    await scripted.next('0420');
    await eventually(async () => expect((await installation.switchStats()).timedOut).toBe(2));
    await letTimePass(installation.database, id, 10);
    await answerTo('0421', '94');
    expect(await untilReversal(id, 'acknowledged', 2)).toMatchObject({ disposition: Disposition.Voided });
  });
});
