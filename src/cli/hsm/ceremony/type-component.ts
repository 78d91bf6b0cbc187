import { z } from 'zod';
import { CryptoError, type CryptoErrorCode, StartError } from '../../../basics/errors.ts';
import { kcvOfComponent, readComponent } from '../../../codecs/crypto/key-components.ts';
import { type CeremonyKey, MOST_TRIES } from './ceremony-key.ts';
import type { CustodianLogin } from './custodians.ts';
import type { CustodianTerminal } from './hidden-terminal.ts';

const login = z.strictObject({
  username: z.string().max(512),
  password: z.string().max(512),
  code: z.string().max(64),
});

/** The login that a custodian has sent; undefined if it has another form. */
export function readLogin(received: unknown): CustodianLogin | undefined {
  return login.safeParse(received).data;
}

/** Asks a custodian for the login of the console. */
export async function typeLogin(terminal: CustodianTerminal): Promise<CustodianLogin> {
  const username = await terminal.ask('Username of the console: ');
  const password = await terminal.askHidden('Password (not shown): ');
  const code = await terminal.askHidden('One-time code, if you have one (not shown): ');
  const typed = { username, password: password.toString('utf8'), code: code.toString('utf8').trim() };
  password.fill(0);
  code.fill(0);
  return typed;
}

const FAULTS: Readonly<Partial<Record<CryptoErrorCode, string>>> = {
  KEY_LENGTH: 'it has another number of hex digits',
  KEY_TOO_WEAK: 'all digits are zero',
  KEY_CHECK_VALUE: 'its check value differs from the one that you entered',
};

/**
 * Asks a custodian for a component until its check value is right.
 *
 * @throws StartError BAD_CONFIG after too many tries
 */
export async function typeComponent(
  terminal: CustodianTerminal,
  { keyId, algorithm, lengthBytes }: CeremonyKey,
): Promise<Uint8Array> {
  for (let tries = 1; ; tries++) {
    const typed = await terminal.askHidden(`Your component of ${keyId}, ${2 * lengthBytes} hex digits (not shown): `);
    const announced = (await terminal.ask('Check value of your component, 6 hex digits: ')).toUpperCase();
    try {
      const component = readComponent(typed, lengthBytes);
      if (kcvOfComponent(algorithm, component) === announced) return component;
      component.fill(0);
      throw new CryptoError('KEY_CHECK_VALUE');
    } catch (error) {
      if (!(error instanceof CryptoError)) throw error;
      const reason = `Your component is not accepted: ${FAULTS[error.code] ?? error.message}.`;
      if (tries === MOST_TRIES) throw new StartError('BAD_CONFIG', reason);
      terminal.say(`${reason} Enter it again.`);
    } finally {
      typed.fill(0);
    }
  }
}
