import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { StartError } from '../errors.ts';

/** A second and a half. */
const LOCK_TRIES = 30;
const LOCK_PAUSE_MS = 50;
const LOCKED = 'another change is in progress. If none is, one was interrupted: remove this file';

/**
 * Changes a file that several commands may change: one at a time, completely or not at all. The file keeps its owner,
 * and only the owner can access it afterwards.
 *
 * @param what names the file in messages, such as `the key file`
 * @param change receives the content of the file, and returns the new one
 * @throws StartError BAD_CONFIG if the file cannot be read, or another change is in progress; what `change` throws
 */
export async function changeFile<Result>(
  path: string,
  what: string,
  change: (text: string) => Promise<Changed<Result>> | Changed<Result>,
): Promise<Result> {
  const lock = `${path}.lock`;
  const held = await takeLock(lock);
  try {
    const before = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
      throw new StartError('BAD_CONFIG', `${what} ${path} cannot be read (${cause.code})`, { cause });
    });
    const { text, result } = await change(before);
    if (text !== before) await replaceFile(path, text);
    return result;
  } finally {
    await held.close();
    await rm(lock, { force: true });
  }
}

/** Another change takes milliseconds. Without a wait, two persons would have entered key components in vain. */
async function takeLock(lock: string): Promise<FileHandle> {
  for (let tries = 1; ; tries++) {
    try {
      return await open(lock, 'wx', 0o600);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      if (code !== 'EEXIST') throw new StartError('BAD_CONFIG', `${lock} cannot be made (${code})`, { cause });
      if (tries === LOCK_TRIES) throw new StartError('BAD_CONFIG', `${lock} exists: ${LOCKED}`, { cause });
      await after(LOCK_PAUSE_MS);
    }
  }
}

/** The new content of a file, and what the caller wants to know about the change. */
interface Changed<Result> {
  readonly text: string;
  readonly result: Result;
}

/** Writes and syncs the file under another name, then renames it: a power cut leaves the old file or the new one. */
async function replaceFile(path: string, text: string): Promise<void> {
  const { uid, gid } = await stat(path);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.chown(uid, gid);
      await file.sync();
    } finally {
      await file.close();
    }
    await renameForGood(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Renames a file that was flushed, and flushes the folder, so that a power cut does not undo it. */
export async function renameForGood(from: string, to: string): Promise<void> {
  await rename(from, to);
  const folder = await open(dirname(to), 'r');
  await folder.sync().finally(() => folder.close());
}

const OTHERS_MAY = 0o077;
const GROUP_READS = 0o040;

/** Who may access a file. */
export interface FileAccess {
  readonly mode: number;
  readonly uid: number;
}

/**
 * Whether only this process may read a file with keys: its owner, or for a file of another user its group. A mounted
 * Secret of Kubernetes belongs to root, and the process reads it as a member of its group.
 */
export function isPrivateFile({ mode, uid }: FileAccess): boolean {
  return (mode & (uid === process.getuid?.() ? OTHERS_MAY : OTHERS_MAY & ~GROUP_READS)) === 0;
}

/** @throws StartError for a file with keys that other users may access; a missing file is no fault of its mode */
export function requirePrivateFile(setting: string, path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || isPrivateFile(found)) return;
  const mode = (found.mode & 0o777).toString(8);
  throw new StartError(
    'BAD_CONFIG',
    `${setting}: other users can access ${path} (mode ${mode}), which contains private keys. Run: chmod 600 ${path}`,
  );
}

/** Certificates are renewed days before they expire. A replacement takes effect within twice this time. */
const LOOK_EVERY_MS = 10_000;

/**
 * Calls back when files have changed. Files that belong together are replaced one after the other, so a change counts
 * when two checks find the same state: a half-finished replacement is not an error.
 *
 * @param onChange called once for each state, also when a file is missing
 * @returns a function that ends it
 */
export function followFiles(paths: readonly string[], onChange: () => void, everyMs = LOOK_EVERY_MS): () => void {
  let known = versionOf(paths);
  let seen = known;
  const timer = setInterval(() => {
    const version = versionOf(paths);
    const isResting = version === seen;
    seen = version;
    if (!isResting || version === known) return;
    known = version;
    onChange();
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/** Changes with each file, and with what a link leads to. A missing file is a state, too. */
function versionOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'missing';
    })
    .join(', ');
}
