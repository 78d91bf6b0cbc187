import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { chownSync, readdirSync } from 'node:fs';
import { StartError } from '../../basics/errors.ts';

/** How to run a command under an account that Postgres accepts: Postgres refuses to run as root. */
export interface PostgresAccount {
  /** The command line that runs `binary` under this account. */
  command(binary: string, args: readonly string[]): readonly [string, readonly string[]];
  /** Options for spawn. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
}

const OURSELVES: PostgresAccount = { command: (binary, args) => [binary, args], identity: {} };

const ACCOUNTS = ['postgres', 'nobody'];

/**
 * A user namespace: the process remains root outside and is an ordinary user for Postgres. No file changes its owner.
 */
const UNSHARE = ['--user', '--map-user=1000', '--map-group=1000', '--'];
const NAMESPACE: PostgresAccount = {
  command: (binary, args) => ['unshare', [...UNSHARE, binary, ...args]],
  identity: {},
};

/**
 * Chooses the account. For an ordinary user: that user. For root: `postgres` or `nobody`, who then becomes the owner of
 * `folders`, if the binary and the folders are accessible to that account. In an inaccessible folder (such as `/root`):
 * a user namespace. No account is created.
 *
 * @throws StartError NO_DATABASE if none of these works
 */
export function choosePostgresAccount(binary: string, folders: readonly string[]): PostgresAccount {
  if (process.getuid?.() !== 0) return OURSELVES;
  for (const name of ACCOUNTS) {
    const identity = identityOf(name);
    if (!identity) continue;
    for (const folder of folders) giveTo(folder, identity);
    const canReach = folders.every((folder) => succeeds('test', ['-x', folder], identity));
    if (canReach && succeeds('test', ['-x', binary], identity))
      return { command: (program, args) => [program, args], identity };
    for (const folder of folders) giveTo(folder, { uid: 0, gid: 0 });
  }
  if (succeeds(...NAMESPACE.command('true', []))) return NAMESPACE;
  throw new StartError(
    'NO_DATABASE',
    'Postgres does not run as root, and this folder is closed to other accounts: move it, open it (chmod o+x), or set DATABASE_URL.',
  );
}

/** The users to whom folders of this installation can belong: this one, and for root the accounts that Postgres may get. */
export function ownerIds(): readonly number[] {
  const own = process.getuid?.() ?? 0;
  return own === 0 ? [own, ...ACCOUNTS.flatMap((name) => identityOf(name)?.uid ?? [])] : [own];
}

function identityOf(name: string): { uid: number; gid: number } | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, name]).stdout?.toString().trim() || Number.NaN),
  );
  return Number.isInteger(uid) && Number.isInteger(gid) ? { uid: uid as number, gid: gid as number } : undefined;
}

/** Only an empty folder changes its owner: a cluster keeps the account that created it. */
function giveTo(folder: string, { uid, gid }: { uid: number; gid: number }): void {
  if (readdirSync(folder).length === 0) chownSync(folder, uid, gid);
}

function succeeds(program: string, args: readonly string[], identity: SpawnSyncOptions = {}): boolean {
  return spawnSync(program, args, { ...identity, cwd: '/', stdio: 'ignore' }).status === 0;
}
