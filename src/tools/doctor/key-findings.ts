import { stat } from 'node:fs/promises';
import { TapwireError } from '../../basics/errors.ts';
import { type FileAccess, isPrivateFile } from '../../basics/files/private-file.ts';
import type { KeyRing } from '../../card/key-ring.ts';
import { type Finding, fault, good, warning } from './finding.ts';

const PART = 'keys';
const DAY_MS = 86_400_000;
/** PCI DSS 3.7.4: keys are changed at the end of their cryptoperiod, which is a year here. */
const CRYPTOPERIOD_DAYS = 365;

interface FileFacts extends FileAccess {
  readonly mtimeMs: number;
}

/** Whether the key file is readable only for its owner, and its age; each rotation rewrites the file. */
export async function keyFindings(
  path: string,
  open: (path: string) => Promise<KeyRing>,
  nowMs: number,
): Promise<Finding[]> {
  let file: FileFacts;
  let keys: KeyRing;
  try {
    file = await stat(path);
    keys = await open(path);
  } catch (error) {
    const reason = error instanceof TapwireError ? error.message : `${path} cannot be read`;
    return [fault(PART, reason, 'run tapwire init for a new installation, or restore the file from its backup')];
  }
  return [permissions(path, file), age(file.mtimeMs, nowMs), ...retiring(keys, nowMs)];
}

function permissions(path: string, file: FileFacts): Finding {
  if (isPrivateFile(file)) return good(PART, `only the owner, or the group of the process, can access ${path}`);
  return fault(
    PART,
    `${path} can be accessed by other users (mode ${(file.mode & 0o777).toString(8)})`,
    `chmod 600 ${path}; prod and qa do not start with it`,
  );
}

function age(changedAtMs: number, nowMs: number): Finding {
  const days = Math.floor((nowMs - changedAtMs) / DAY_MS);
  if (days <= CRYPTOPERIOD_DAYS) return good(PART, `last changed ${days} days ago`);
  return warning(PART, `no key was changed for ${days} days`, 'run tapwire keys rotate --purpose … for each purpose');
}

/** A retired card data key opens nothing. The gateway refuses readers that still seal with it. */
function retiring(keys: KeyRing, nowMs: number): Finding[] {
  const { keys: published } = keys.publicCardDataKeys(nowMs);
  return [good(PART, `${published.length} card data keys are published`)];
}
