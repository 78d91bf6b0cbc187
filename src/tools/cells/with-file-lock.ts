import { open, readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { CellError } from './cell-error.ts';

const TRY_AGAIN_MS = 20;
/** The file is changed within milliseconds, so a lock that is kept for longer was left by a process that has died. */
const MOST_TRIES = 500;

/**
 * Changes a file together with other processes that do so: one at a time, because each writes what it has read. The lock
 * is a file next to it, with the process that holds it.
 *
 * @throws CellError MOVE_STUCK if the lock cannot be had, with what to do
 */
export async function withFileLock<Result>(
  path: string,
  act: () => Promise<Result>,
  mostTries = MOST_TRIES,
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
