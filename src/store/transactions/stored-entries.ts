import type { AuditEntry } from '../../payments/model/audit-entry.ts';
import { type Move, Status, type StatusId, statusName } from '../../payments/model/status.ts';

/** Transitions that follow each other at one time, from a status (null: a new transaction) to each of the path. */
interface StoredPath {
  readonly from: StatusId | null;
  readonly path: readonly StatusId[];
  readonly at: string;
}

/** An audit entry as `transaction_events.moves` has it. Rows from before paths were stored have each transition. */
export type StoredEntry = StoredPath | AuditEntry;

/**
 * The audit entries of a commit for storage. Every tap writes three such values with five transitions; as paths they
 * take a quarter of the bytes.
 */
export function storedEntries(entries: readonly AuditEntry[]): StoredEntry[] {
  const stored: StoredEntry[] = [];
  let path: StatusId[] | undefined;
  let last: Move | undefined;
  for (const entry of entries) {
    const move = isMove(entry) ? entry : undefined;
    if (move !== undefined && path !== undefined && last?.to === move.from && last.at === move.at) {
      path.push(Status[move.to]);
    } else if (move !== undefined) {
      path = [Status[move.to]];
      stored.push({ from: move.from === null ? null : Status[move.from], path, at: move.at });
    } else stored.push(entry);
    last = move;
  }
  return stored;
}

/** The audit entries of a stored value. */
export function readEntries(stored: readonly StoredEntry[]): AuditEntry[] {
  return stored.flatMap((entry) => ('path' in entry ? readPath(entry) : entry));
}

function readPath({ from, path, at }: StoredPath): Move[] {
  return path.map((to, n) => {
    const before = n === 0 ? from : path[n - 1]!;
    return { from: before === null ? null : statusName(before), to: statusName(to), at };
  });
}

function isMove(entry: AuditEntry): entry is Move {
  return 'to' in entry;
}
