import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { chownSync, readdirSync } from 'node:fs';
import { StartError } from '../../errors.ts';

/** How a command is run so that Postgres accepts its account: Postgres refuses to be root. */
export interface PostgresAccount {
  /** The command line that runs `binary` under this account. */
  command(binary: string, args: readonly string[]): readonly [string, readonly string[]];
  /** For spawn. */
  readonly identity: { readonly uid?: number; readonly gid?: number };
}

const OURSELVES: PostgresAccount = { command: (binary, args) => [binary, args], identity: {} };

/** Root in its own eyes, nobody special in those of Postgres: a user namespace changes no file's owner. */
const UNSHARE = ['--user', '--map-user=1000', '--map-group=1000', '--'];
const NAMESPACE: PostgresAccount = {
  command: (binary, args) => ['unshare', [...UNSHARE, binary, ...args]],
  identity: {},
};

/**
 * Chooses the account. As a user: that user. As root: `postgres` or `nobody`, to whom `folders` are then given, if the
 * binary and the folders are open to them; in a closed folder (`/root`, say) a user namespace. No account is created.
 *
 * @throws StartError NO_DATABASE when none of these works
 */
export function choosePostgresAccount(binary: string, folders: readonly string[]): PostgresAccount {
  if (process.getuid?.() !== 0) return OURSELVES;
  for (const name of ['postgres', 'nobody']) {
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

function identityOf(name: string): { uid: number; gid: number } | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, name]).stdout?.toString().trim() || Number.NaN),
  );
  return Number.isInteger(uid) && Number.isInteger(gid) ? { uid: uid as number, gid: gid as number } : undefined;
}

/** Only an empty folder is given: a cluster keeps the account it was made with. */
function giveTo(folder: string, { uid, gid }: { uid: number; gid: number }): void {
  if (readdirSync(folder).length === 0) chownSync(folder, uid, gid);
}

function succeeds(program: string, args: readonly string[], identity: SpawnSyncOptions = {}): boolean {
  return spawnSync(program, args, { ...identity, cwd: '/', stdio: 'ignore' }).status === 0;
}
