import { statSync } from 'node:fs';
import { StartError } from '../errors.ts';

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
