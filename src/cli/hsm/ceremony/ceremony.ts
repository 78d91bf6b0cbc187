import { z } from 'zod';
import type { PortalUser } from '../../../auth/portal/portal-user.ts';
import { CryptoError, StartError } from '../../../basics/errors.ts';
import type { BlockKey, KeyAlgorithm } from '../../../codecs/crypto/block-key.ts';
import { combineComponents } from '../../../codecs/crypto/key-components.ts';
import { kcv } from '../../../codecs/crypto/mac.ts';
import type { Config } from '../../../start/config.ts';
import { openKeyRing } from '../../../start/open-key-ring.ts';
import { type KeyAct, recordKeyAct } from '../../../store/switches/hsm-keys.ts';
import { STOP_SIGNALS } from '../../command-end.ts';
import { type NewKeyPlace, storeNewKey } from '../opened-hsm.ts';
import { CEREMONY_MS, type CeremonyPlace, type FrameSocket, joinPlace, openPlace } from './ceremony-place.ts';
import {
  type CeremonyKey,
  type CheckCustodian,
  type CustodianLogin,
  CustodianRefused,
  type CustodianTerminal,
  createCustodianCheck,
  HiddenTerminal,
  MAX_TRIES,
  readLogin,
  typeComponent,
  typeLogin,
} from './type-component.ts';

const MAX_ACTOR_CHARS = 255;
const AT_THE_CONSOLE = `Clear components must not leave the device. Enter them at its console: GC generates components, FK forms the key. Then run
tapwire hsm import --under-lmk with the key under the LMK and the check value that the console displays.`;

interface NewCeremony {
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

export interface CeremonyParts {
  readonly key: CeremonyKey;
  /** Check value of the whole key, as its sender has announced it. */
  readonly kcv: string;
  readonly terminal: CustodianTerminal;
  readonly checkCustodian: CheckCustodian;
  readonly dataFolder: string;
  readonly cancelled: Promise<never>;
  /** Called after the login of the first custodian. */
  readonly onOpened: (first: PortalUser) => Promise<void>;
  /** Stores the key of the ceremony. */
  readonly store: (key: BlockKey, custodians: readonly PortalUser[]) => Promise<void>;
}

/** The login and the component of the second custodian. */
interface Joined {
  readonly user: PortalUser;
  readonly component: Uint8Array;
  readonly socket: FrameSocket;
}

/**
 * Leads a ceremony at the terminal of the first custodian: checks both logins, receives both components, and forms the key in
 * the memory of this process. Nothing of it is stored before its check value is right.
 *
 * @throws StartError BAD_CONFIG if the ceremony fails; both custodians see the reason
 */
export async function leadCeremony(parts: CeremonyParts): Promise<void> {
  const { key, terminal, cancelled, dataFolder } = parts;
  const first = await Promise.race([loginHere(parts), cancelled]);
  await parts.onOpened(first);
  const joining = Promise.withResolvers<Joined>();
  joining.promise.catch(() => {}); // it is awaited after the first component
  const finishing = Promise.withResolvers<void>();
  const place: CeremonyPlace = await openPlace(dataFolder, async (socket) => {
    const joined = await receiveCustodian(parts, first, socket).catch(joining.reject);
    if (joined === undefined) return;
    joining.resolve(joined);
    await finishing.promise;
  });
  let own: Uint8Array | undefined;
  let joined: Joined | undefined;
  try {
    terminal.say(`\nThe second custodian joins at another terminal:  tapwire hsm import --join ${place.id}`);
    terminal.say(`The ceremony ends ${CEREMONY_MS / 60_000} minutes after its start.\n`);
    own = await Promise.race([typeComponent(terminal, key), cancelled]);
    terminal.say('Waiting for the second custodian. Ctrl-C cancels the ceremony.');
    joined = await Promise.race([joining.promise, cancelled]);
    terminal.say(`${joined.user.username} has entered the other component.`);
    const whole = combineComponents(key.algorithm, own, joined.component);
    if (kcv(whole) !== parts.kcv) throw new CryptoError('KEY_CHECK_VALUE');
    await parts.store(whole, [first, joined.user]);
    joined.socket.sendJson({ done: parts.kcv });
  } catch (error) {
    const reason =
      error instanceof StartError
        ? error.reason
        : error instanceof CryptoError
          ? error.message
          : 'The ceremony has failed.';
    joined?.socket.sendJson({ failed: reason });
    throw error instanceof CryptoError
      ? new StartError('BAD_CONFIG', `${key.keyId}: ${reason}`, { cause: error })
      : error;
  } finally {
    own?.fill(0);
    joined?.component.fill(0);
    finishing.resolve();
    await place.close();
  }
}

async function loginHere({ terminal, checkCustodian }: CeremonyParts): Promise<PortalUser> {
  for (let tries = 1; ; tries++) {
    try {
      return await checkCustodian(await typeLogin(terminal));
    } catch (error) {
      if (!(error instanceof CustodianRefused)) throw error;
      if (tries === MAX_TRIES) throw new StartError('BAD_CONFIG', error.message);
      terminal.say(error.message);
    }
  }
}

/** Serves the second custodian. @returns undefined if the other side has ended, or is refused */
async function receiveCustodian(
  { key, checkCustodian }: CeremonyParts,
  first: PortalUser,
  socket: FrameSocket,
): Promise<Joined | undefined> {
  socket.sendJson({ key, first: first.username });
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const login: CustodianLogin | undefined = readLogin(await socket.receiveJson());
    if (login === undefined) return undefined;
    const checked = await checkCustodian(login).catch((error: unknown) => {
      if (error instanceof CustodianRefused) return error;
      throw error;
    });
    if (checked instanceof CustodianRefused || checked.id === first.id) {
      const reason =
        checked instanceof CustodianRefused ? checked.message : 'The second custodian must be another person.';
      socket.sendJson({ refused: reason, isLast: tries === MAX_TRIES });
      continue;
    }
    socket.sendJson({ accepted: checked.username });
    const component = await socket.receive();
    if (component === undefined) return undefined;
    if (component.length !== key.lengthBytes) return undefined;
    return { user: checked, component, socket };
  }
  return undefined;
}

const ENDED = 'The ceremony has ended at the first terminal.';

const opening = z.object({
  key: z.object({
    keyId: z.string(),
    usage: z.string(),
    algorithm: z.enum(['tdes', 'aes']),
    lengthBytes: z.union([z.literal(8), z.literal(16), z.literal(24), z.literal(32)]),
  }),
  first: z.string(),
});
const response = z.union([z.object({ accepted: z.string() }), z.object({ refused: z.string(), isLast: z.boolean() })]);
const end = z.union([z.object({ done: z.string() }), z.object({ failed: z.string() })]);

/**
 * Joins a ceremony at the terminal of the second custodian. The login is checked by the process of the first one.
 *
 * @returns the check value of the new key
 * @throws StartError BAD_CONFIG if the ceremony fails or ends
 */
export async function joinCeremony(
  terminal: CustodianTerminal,
  socket: FrameSocket,
  cancelled: Promise<never>,
): Promise<string> {
  const ended = socket.closed.then((): never => {
    throw new StartError('BAD_CONFIG', ENDED);
  });
  ended.catch(() => {}); // it matters only while a person types
  const interrupted = Promise.race([cancelled, ended]);
  interrupted.catch(() => {});
  try {
    const { key, first } = await received(socket, opening, cancelled);
    terminal.say(`Key ${key.keyId} for ${key.usage}, ${key.algorithm}, ${2 * key.lengthBytes} hex digits.`);
    terminal.say(`The first custodian is ${first}.\n`);
    await login(terminal, socket, interrupted);
    const component = await Promise.race([typeComponent(terminal, key), interrupted]);
    socket.send(component);
    component.fill(0);
    terminal.say('Waiting for the first custodian.');
    const result = await received(socket, end, cancelled);
    if ('failed' in result) throw new StartError('BAD_CONFIG', `The ceremony has failed: ${result.failed}`);
    return result.done;
  } finally {
    socket.end();
  }
}

async function login(terminal: CustodianTerminal, socket: FrameSocket, cancelled: Promise<never>): Promise<void> {
  for (;;) {
    socket.sendJson(await Promise.race([typeLogin(terminal), cancelled]));
    const judged = await received(socket, response, cancelled);
    if ('accepted' in judged) return;
    if (judged.isLast) throw new StartError('BAD_CONFIG', judged.refused);
    terminal.say(judged.refused);
  }
}

async function received<Content>(
  socket: FrameSocket,
  schema: z.ZodType<Content>,
  cancelled: Promise<never>,
): Promise<Content> {
  const content = schema.safeParse(await Promise.race([socket.receiveJson(), cancelled])).data;
  if (content === undefined) throw new StartError('BAD_CONFIG', ENDED);
  return content;
}
