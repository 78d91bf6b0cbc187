import type { PortalUser } from '../../../auth/portal/portal-user.ts';
import { CryptoError, StartError } from '../../../basics/errors.ts';
import type { BlockKey } from '../../../codecs/crypto/block-key.ts';
import { combineComponents } from '../../../codecs/crypto/key-components.ts';
import { kcv } from '../../../codecs/crypto/mac.ts';
import { CEREMONY_MS, type CeremonyPlace, type FrameSocket, openPlace } from './ceremony-place.ts';
import {
  type CeremonyKey,
  type CheckCustodian,
  type CustodianLogin,
  CustodianRefused,
  type CustodianTerminal,
  MAX_TRIES,
  readLogin,
  typeComponent,
  typeLogin,
} from './type-component.ts';

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
