import type { ReadStream } from 'node:tty';
import { z } from 'zod';
import { createLoginCheck } from '../../../auth/portal/log-in.ts';
import { createMustEnrol, INSTALLATION_OWNER, type PortalUser } from '../../../auth/portal/portal-user.ts';
import { createSecondFactors } from '../../../auth/totp/second-factor.ts';
import { AuthError, CryptoError, type CryptoErrorCode, StartError, Throttled } from '../../../basics/errors.ts';
import type { KeyRing } from '../../../card/key-ring.ts';
import type { KeyAlgorithm } from '../../../codecs/crypto/block-key.ts';
import { kcvOfComponent, readComponent } from '../../../codecs/crypto/key-components.ts';
import type { Config } from '../../../start/config.ts';
import { loginFactors } from '../../../start/register-routes.ts';
import { UserTotp } from '../../../store/credentials/user-totp.ts';
import { postgresLoginTries, postgresUsers } from '../../../store/credentials/users.ts';
import type { Database } from '../../../store/postgres/open-database.ts';

/** The key that a ceremony forms. */
export interface CeremonyKey {
  readonly keyId: string;
  readonly usage: string;
  readonly algorithm: KeyAlgorithm;
  readonly lengthBytes: number;
}

/** Logins and components that one custodian may enter. */
export const MAX_TRIES = 3;

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
      if (tries === MAX_TRIES) throw new StartError('BAD_CONFIG', reason);
      terminal.say(`${reason} Enter it again.`);
    } finally {
      typed.fill(0);
    }
  }
}

/** Longer than any password or key component. */
const MAX_BYTES = 512;
const CTRL_C = 0x03;
const CTRL_D = 0x04;
const BACKSPACE = 0x08;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;

/** How a ceremony speaks with a custodian. */
export interface CustodianTerminal {
  say(text: string): void;
  /** What the person types, shown. Only one question is asked at a time. */
  ask(question: string): Promise<string>;
  /** What the person types, not shown. The caller wipes it. */
  askHidden(question: string): Promise<Buffer>;
}

interface Question {
  readonly isShown: boolean;
  readonly typed: Buffer;
  length: number;
  readonly resolve: (line: Buffer) => void;
}

/**
 * The terminal of a person who types secrets. From the start to the end it echoes nothing on its own, not even what is
 * typed between questions. Node restores the terminal when the process ends or a signal ends it; after SIGKILL, `stty
 * sane` does.
 */
export class HiddenTerminal implements CustodianTerminal {
  readonly #input: ReadStream;
  readonly #onCancel: () => void;
  #question: Question | undefined;

  /**
   * @param onCancel called when the person presses Ctrl-C or Ctrl-D
   * @throws StartError BAD_CONFIG if standard input is a file or a pipe, which could keep what it contains
   */
  constructor(input: ReadStream, onCancel: () => void) {
    if (!input.isTTY)
      throw new StartError('BAD_CONFIG', 'Key components must be typed at a terminal, not read from a file or a pipe.');
    this.#input = input;
    this.#onCancel = onCancel;
    input.setRawMode(true);
    input.on('data', this.#onData);
    input.resume();
  }

  say(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  async ask(question: string): Promise<string> {
    return (await this.#read(question, true)).toString('utf8').trim();
  }

  askHidden(question: string): Promise<Buffer> {
    return this.#read(question, false);
  }

  /** Restores the terminal. A question that waits never gets a reply. */
  close(): void {
    this.#question?.typed.fill(0);
    this.#question = undefined;
    this.#input.off('data', this.#onData);
    this.#input.setRawMode(false);
    this.#input.pause();
  }

  #read(question: string, isShown: boolean): Promise<Buffer> {
    process.stderr.write(question);
    return new Promise((resolve) => {
      this.#question = { isShown, typed: Buffer.alloc(MAX_BYTES), length: 0, resolve };
    });
  }

  readonly #onData = (chunk: Buffer): void => {
    for (const code of chunk) {
      if (code === CTRL_C || code === CTRL_D) this.#onCancel();
      else this.#type(code);
    }
    chunk.fill(0);
  };

  #type(code: number): void {
    const question = this.#question;
    if (question === undefined) return;
    if (code === CARRIAGE_RETURN || code === LINE_FEED) {
      this.#question = undefined;
      process.stderr.write('\n');
      question.resolve(Buffer.from(question.typed.subarray(0, question.length)));
      question.typed.fill(0);
    } else if (code === BACKSPACE || code === DELETE) {
      if (question.length === 0) return;
      question.typed[--question.length] = 0;
      if (question.isShown) process.stderr.write('\b \b');
    } else if (code >= SPACE && question.length < MAX_BYTES) {
      question.typed[question.length++] = code;
      if (question.isShown) process.stderr.write(Buffer.of(code));
    }
  }
}

/** What a custodian types to prove who it is. */
export interface CustodianLogin {
  readonly username: string;
  readonly password: string;
  /** A one-time code; empty without one. */
  readonly code: string;
}

/** Why a person is not accepted as a custodian. */
export class CustodianRefused extends Error {}

export type CheckCustodian = (login: CustodianLogin) => Promise<PortalUser>;

/** All custodians are at this machine. */
const HERE = '127.0.0.1';

/**
 * Makes the function that accepts custodians of a key: operators and administrators of the acquirer that owns it, or of the
 * installation. They log in as in the console, and failed logins count in the same way.
 *
 * @param acquirerId owner of the key; 0 for the installation
 * @returns a function that throws CustodianRefused with a reason for the person
 */
export function createCustodianCheck(
  config: Config,
  database: Database,
  keys: KeyRing,
  acquirerId: number,
): CheckCustodian {
  const { LOGIN_TRIES_PER_USER: perUser, LOGIN_TRIES_PER_ADDRESS: perAddress, LOGIN_WINDOW_MINUTES } = config;
  const factors = createSecondFactors(keys, () => Date.now());
  const checkLogin = createLoginCheck({
    logins: postgresUsers(database),
    factors: loginFactors(factors, new UserTotp(database)),
    tries: postgresLoginTries(database),
    limits: { perUser, perAddress, windowSeconds: LOGIN_WINDOW_MINUTES * 60 },
  });
  const mustEnrol = createMustEnrol(config.CONSOLE_NEEDS_TOTP);
  return async ({ username, password, code }) => {
    const user = await checkLogin({ username, password, code: code === '' ? undefined : code, ip: HERE }).catch(
      (error) => {
        if (error instanceof AuthError) throw new CustodianRefused('The login is not accepted.');
        if (error instanceof Throttled) throw new CustodianRefused('There were too many logins; try again later.');
        throw error;
      },
    );
    if (mustEnrol(user)) throw new CustodianRefused('Set up one-time codes in the console first.');
    if (!isCustodian(user, acquirerId))
      throw new CustodianRefused(
        'A custodian is an operator or administrator of the installation, or of the owner of the key.',
      );
    return user;
  };
}

function isCustodian({ owner, role }: PortalUser, acquirerId: number): boolean {
  const isOfOwner = owner.acquirerId === INSTALLATION_OWNER || owner.acquirerId === acquirerId;
  return role !== 'viewer' && isOfOwner && owner.integratorId === undefined && owner.merchantId === undefined;
}
