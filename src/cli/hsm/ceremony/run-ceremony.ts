import type { PortalUser } from '../../../auth/portal/portal-user.ts';
import { StartError } from '../../../basics/errors.ts';
import type { KeyAlgorithm } from '../../../codecs/crypto/block-key.ts';
import type { Config } from '../../../start/config.ts';
import { openKeyRing } from '../../../start/open-key-ring.ts';
import { type KeyAct, recordKeyAct } from '../../../store/switches/hsm-keys.ts';
import { STOP_SIGNALS } from '../../process-end.ts';
import { type NewKeyPlace, storeNewKey } from '../opened-hsm.ts';
import { CEREMONY_MS, joinPlace } from './ceremony-place.ts';
import { joinCeremony } from './join-ceremony.ts';
import { leadCeremony } from './lead-ceremony.ts';
import { createCustodianCheck, HiddenTerminal } from './type-component.ts';

const MAX_ACTOR_CHARS = 255;
const AT_THE_CONSOLE = `Clear components must not leave the device. Enter them at its console: GC generates components, FK forms the key. Then run
tapwire hsm import --under-lmk with the key under the LMK and the check value that the console displays.`;

export interface NewCeremony {
  readonly algorithm: KeyAlgorithm;
  readonly lengthBytes: number;
  /** Check value of the whole key. */
  readonly kcv: string;
}

/** Runs the ceremony of a new key at the terminal of the first custodian. Its begin and its failure are admin events. */
export async function openCeremony(config: Config, into: NewKeyPlace, { kcv, ...shape }: NewCeremony): Promise<void> {
  const { database, key, file } = into;
  const { addClear } = file;
  if (addClear === undefined) throw new StartError('BAD_CONFIG', AT_THE_CONSOLE);
  const { keyId, usage, acquirerId } = key;
  const ring = await openKeyRing(config);
  let by = '';
  const record = (after: KeyAct) => recordKeyAct(database, { acquirerId, actor: by }, keyId, after);
  try {
    await atTerminal((terminal, cancelled) =>
      leadCeremony({
        key: { keyId, usage, ...shape },
        ...{ kcv, terminal, cancelled, dataFolder: config.TAPWIRE_DATA },
        checkCustodian: createCustodianCheck(config, database, ring, acquirerId),
        onOpened: async (first) => {
          by = actorOf([first]);
          await record({ did: 'beginCeremony', kcv });
        },
        store: async (whole, custodians) => {
          const names = custodians.map(({ username }) => username);
          const origin = { origin: 'components', custodians: names };
          await storeNewKey(into, addClear(keyId, usage, whole), origin, actorOf(custodians));
        },
      }),
    );
  } catch (error) {
    if (by !== '') await record({ did: 'failCeremony', reason: error instanceof StartError ? error.reason : 'fault' });
    throw error;
  } finally {
    ring.close();
  }
}

/** Joins a ceremony at the terminal of the second custodian; this process needs no database. */
export async function runJoin(config: Config, id: string): Promise<void> {
  const kcv = await atTerminal(async (terminal, cancelled) =>
    joinCeremony(terminal, await joinPlace(config.TAPWIRE_DATA, id), cancelled),
  );
  console.log(`The key is stored: check value ${kcv}.`);
}

function actorOf(users: readonly PortalUser[]): string {
  return users
    .map(({ username }) => `user ${username}`)
    .join(' and ')
    .slice(0, MAX_ACTOR_CHARS);
}

/**
 * Runs a part of a ceremony at the terminal of this process, and restores the terminal.
 *
 * @param act its second argument rejects when the person or a signal cancels the ceremony, or its time is over
 */
async function atTerminal<Result>(
  act: (terminal: HiddenTerminal, cancelled: Promise<never>) => Promise<Result>,
): Promise<Result> {
  const cancelling = Promise.withResolvers<never>();
  cancelling.promise.catch(() => {});
  const cancel = (reason: string) => cancelling.reject(new StartError('BAD_CONFIG', reason));
  const onSignal = () => cancel('The ceremony was cancelled.');
  const terminal = new HiddenTerminal(process.stdin, onSignal);
  const timer = setTimeout(() => cancel('The ceremony took too long.'), CEREMONY_MS);
  for (const signal of STOP_SIGNALS) process.once(signal, onSignal);
  try {
    return await act(terminal, cancelling.promise);
  } finally {
    clearTimeout(timer);
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
    terminal.close();
  }
}
