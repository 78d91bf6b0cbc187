import type { History } from './key-exchange-history.ts';
import { OVERLAP_MS, USES } from './keys-of-switch.ts';

const LONGER_THAN_OVERLAP_S = OVERLAP_MS / 1_000 + 10;

/**
 * What a history may begin with: sequences that random actions rarely make. Nothing else goes wrong meanwhile. Each
 * begins with processes that have started, and leaves to the judge what is wrong.
 */
const OPENINGS: Readonly<Record<string, (history: History) => Promise<unknown>>> = {
  'only random actions': async () => {},

  /** The switch has the response, the database does not. One process starts again, the others go on. */
  async 'a death between the response and its record'(history) {
    const [worker] = history.workers;
    for (const use of USES) {
      history.isSwitchRefusing = true;
      worker!.diesBeforeRecord = true;
      await history.announce(use, worker!);
      await history.settle();
      await worker!.start();
      await history.settle();
      history.sendAll();
    }
    await history.letPass(LONGER_THAN_OVERLAP_S);
  },

  /** The gateway takes the keys in one order, and the switch has the responses in the other one. */
  async 'two announcements at one moment'(history) {
    history.isSwitchRefusing = true;
    for (const use of USES) {
      for (const worker of [history.workers[0]!, history.workers.at(-1)!]) {
        await history.announce(use, worker);
        await history.rest();
      }
      history.deliverLastFirst();
    }
    await history.letPass(LONGER_THAN_OVERLAP_S);
  },

  /** The other processes learn of the new keys, and this one does not. */
  async 'a process that cannot read'(history) {
    const last = history.workers.at(-1)!;
    last.isCutOff = true;
    for (const use of USES) await history.announce(use, history.workers[0]!);
    await history.settle();
    await history.letPass(LONGER_THAN_OVERLAP_S);
  },

  async 'a replay of a retired key'(history) {
    const [worker] = history.workers;
    const retired = [];
    for (const use of USES) retired.push(await history.announce(use, worker!));
    await history.settle();
    await history.letPass(6);
    for (const use of USES) await history.announce(use, worker!);
    await history.settle();
    await history.letPass(LONGER_THAN_OVERLAP_S);
    for (const key of retired) history.replayKey(key, worker!);
    await history.settle();
    history.sendAll();
  },

  /** The gateway has written its responses, and they are lost. */
  async 'a connection that is lost with its responses'(history) {
    const [worker] = history.workers;
    for (const use of USES) await history.announce(use, worker!);
    await history.rest();
    worker!.loseConnection();
    await history.settle();
  },
};

const NAMES = Object.keys(OPENINGS);

/** Whether the processes have keys again afterwards. The seeds take turns, so that a few histories have every opening. */
export async function beginWith(history: History, turn: number): Promise<boolean> {
  const name = NAMES[turn % NAMES.length]!;
  history.log.push(`opening: ${name}`);
  history.isWild = false;
  for (const worker of history.workers) await worker.start();
  await history.settle();
  await OPENINGS[name]!(history);
  const isRecovered = await history.recover();
  history.isWild = true;
  return isRecovered;
}
