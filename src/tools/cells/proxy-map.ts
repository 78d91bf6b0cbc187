import { open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { CellError, type ProxySettings } from './cell-list.ts';

const TRY_AGAIN_MS = 20;
/** The file is changed within milliseconds, so a lock that is kept for longer was left by a process that has died. */
const MAX_TRIES = 500;

/**
 * Changes a file together with other processes that do so: one at a time, because each writes what it has read. The lock
 * is a file next to it, with the process that holds it.
 *
 * @throws CellError MOVE_STUCK if the lock cannot be had, with what to do
 */
export async function withFileLock<Result>(
  path: string,
  act: () => Promise<Result>,
  mostTries = MAX_TRIES,
): Promise<Result> {
  const lock = `${path}.lock`;
  await take(lock, mostTries);
  try {
    return await act();
  } finally {
    await rm(lock, { force: true });
  }
}

async function take(lock: string, mostTries: number): Promise<void> {
  for (let tries = 1; tries <= mostTries; tries++) {
    try {
      const file = await open(lock, 'wx', 0o644);
      await file.writeFile(`${hostname()} ${process.pid}`);
      await file.close();
      return;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
        throw new CellError('MOVE_STUCK', `The file ${lock} cannot be made.`, { cause });
    }
    await sleep(TRY_AGAIN_MS);
  }
  const holder = await readFile(lock, 'utf8').catch(() => '');
  const what = `The file ${lock} is still there: process ${holder || 'of an unknown number'} changes the file or was ended while it did. If it no longer runs, remove the lock and run the command again.`;
  throw new CellError('MOVE_STUCK', what);
}

/** A running HAProxy responds within milliseconds. */
const RESPONSE_WITHIN_MS = 3_000;

export function hostsOf({ hosts }: ProxySettings, acquirerId: number): string[] {
  return hosts.map((host) => host.replaceAll('{acquirer}', String(acquirerId)).toLowerCase());
}

/**
 * Sends the requests of an acquirer to a backend: in the map file, which HAProxy reads when it starts, and in every
 * running HAProxy through its runtime API. May be repeated.
 *
 * @throws CellError MOVE_STUCK if a running HAProxy was not changed
 */
export async function setBackend(proxy: ProxySettings, acquirerId: number, backend: string): Promise<void> {
  const hosts = hostsOf(proxy, acquirerId);
  await withFileLock(proxy.map, () => rewriteMap(proxy.map, hosts, backend));
  await Promise.all(proxy.sockets.map((socket) => changeRunning(socket, proxy.map, hosts, backend)));
}

async function rewriteMap(path: string, hosts: readonly string[], backend: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return '';
    throw new CellError('MOVE_STUCK', `The map ${path} cannot be read.`, { cause });
  });
  const others = text.split('\n').filter((line) => line !== '' && !hosts.includes(line.trim().split(/\s+/, 1)[0]!));
  const lines = [...others, ...hosts.map((host) => `${host} ${backend}`)];
  const fresh = `${path}.${process.pid}.new`;
  const mode = await stat(path).then(
    (found) => found.mode & 0o777,
    () => 0o644,
  );
  await writeFile(fresh, `${lines.join('\n')}\n`, { mode });
  await rename(fresh, path);
}

async function changeRunning(socket: string, map: string, hosts: readonly string[], backend: string): Promise<void> {
  for (const host of hosts) {
    // `set map` changes existing entries only.
    const isKnown = await hasEntry(socket, map, host);
    const response = await ask(socket, `${isKnown ? 'set' : 'add'} map ${map} ${host} ${backend}`);
    if (response.trim() !== '')
      throw new CellError('MOVE_STUCK', `HAProxy at ${socket} did not change its map: ${response.trim()}`);
  }
}

async function hasEntry(socket: string, map: string, host: string): Promise<boolean> {
  const entries = await ask(socket, `show map ${map}`);
  return entries.split('\n').some((line) => line.split(' ')[1] === host);
}

/** Runs one command of HAProxy's runtime API, and returns its output. */
function ask(socket: string, command: string): Promise<string> {
  const fault = (cause?: unknown) =>
    new CellError('MOVE_STUCK', `HAProxy at ${socket} does not respond. Run the move again when it does.`, { cause });
  return new Promise((resolve, reject) => {
    const port = /^(.+):(\d+)$/.exec(socket);
    const connection = port ? connect(Number(port[2]), port[1]) : connect(socket);
    let response = '';
    connection.setTimeout(RESPONSE_WITHIN_MS, () => connection.destroy(new Error('timeout')));
    connection.on('error', (cause) => reject(fault(cause)));
    connection.on('data', (chunk) => {
      response += chunk.toString();
    });
    connection.on('end', () => resolve(response));
    connection.end(`${command}\n`);
  });
}
