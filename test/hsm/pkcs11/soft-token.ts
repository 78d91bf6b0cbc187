import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where Debian and its relatives install the library of SoftHSM. */
const LIBRARIES = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib/aarch64-linux-gnu/softhsm/libsofthsm2.so',
  '/usr/lib64/pkcs11/libsofthsm2.so',
];
const LIBRARY = LIBRARIES.find((path) => existsSync(path));

/** Whether tests with a token can run here: SoftHSM is installed, and the package pkcs11js could be compiled. */
export const HAS_SOFT_TOKEN = LIBRARY !== undefined && canLoad('pkcs11js');

if (!HAS_SOFT_TOKEN)
  console.warn('Tests with a PKCS #11 token are skipped: they need SoftHSM (softhsm2) and pkcs11js.');

export interface SoftToken {
  readonly modulePath: string;
  readonly label: string;
  readonly pin: string;
  readonly pinFile: string;
  /** Of a call, for `Token`: on a busy machine its thread and its library take seconds to start. */
  readonly limitMs: number;
  remove(): void;
}

let tokens: string | undefined;

/**
 * A new token of SoftHSM. All tokens of a process are in one folder, because the library reads its configuration once for
 * each process.
 */
export function freshSoftToken(label = 'tapwire'): SoftToken {
  if (tokens === undefined) {
    tokens = mkdtempSync(join(tmpdir(), 'tapwire-softhsm-'));
    const folder = tokens;
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'tokens'));
    const config = join(folder, 'softhsm2.conf');
    writeFileSync(
      config,
      `directories.tokendir = ${join(folder, 'tokens')}\nobjectstore.backend = file\nlog.level = ERROR\n`,
    );
    process.env.SOFTHSM2_CONF = config;
  }
  const pin = '123456';
  const name = `${label}-${Math.random().toString(36).slice(2, 8)}`;
  execFileSync('softhsm2-util', ['--init-token', '--free', '--label', name, '--so-pin', '12345678', '--pin', pin]);
  const pinFile = join(tokens, `${name}.pin`);
  writeFileSync(pinFile, `${pin}\n`, { mode: 0o600 });
  const remove = () => void execFileSync('softhsm2-util', ['--delete-token', '--token', name]);
  return { modulePath: LIBRARY!, label: name, pin, pinFile, limitMs: 60_000, remove };
}

/** Sets another PIN, as its owner does with the tools of the token. */
export function changePin({ modulePath, label, pin }: SoftToken, to: string): void {
  const pkcs11js = createRequire(import.meta.url)('pkcs11js') as typeof import('pkcs11js');
  const library = new pkcs11js.PKCS11();
  library.load(modulePath);
  try {
    library.C_Initialize();
  } catch {} // a thread of this process has done so
  const slot = library.C_GetSlotList(true).find((each) => library.C_GetTokenInfo(each).label.trim() === label)!;
  const session = library.C_OpenSession(slot, pkcs11js.CKF_SERIAL_SESSION | pkcs11js.CKF_RW_SESSION);
  library.C_Login(session, pkcs11js.CKU_USER, pin);
  library.C_SetPIN(session, pin, to);
  library.C_Logout(session);
  library.C_CloseSession(session);
}

function canLoad(name: string): boolean {
  try {
    createRequire(import.meta.url)(name);
    return true;
  } catch {
    return false;
  }
}
