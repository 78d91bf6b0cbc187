import type { Transaction } from '../model/transaction.ts';
import type { Directory } from '../ports/directory-ports.ts';
import type { Switch, Switches } from '../ports/switch-ports.ts';
import type { TransactionPath } from '../ports/transaction-dependencies.ts';

/** The group of a job that a process signed on to the processor should take. */
export function groupOf(acquirerId: number, processorId: number | undefined): { readonly group?: string } {
  return processorId === undefined ? {} : { group: `${acquirerId} ${processorId}` };
}

/** The job is tried again, by a process of its new group if it names one. */
export type Again = { readonly againAfterSeconds: number; readonly group?: string };

/** Delegates a job to the processes that are signed on to its processor. One takes it at its next poll. */
export function delegateTo(acquirerId: number, processorId: number): Again {
  return { againAfterSeconds: 0, ...groupOf(acquirerId, processorId) };
}

/** The processors of an acquirer that could receive a request. */
export interface Candidates {
  readonly acquirerId: number;
  readonly processorIds: () => readonly number[];
}

/** The processor that a transaction was sent to, also after its route was removed: no other switch knows it. */
export function candidatesAfter(
  directory: Pick<Directory, 'routes'>,
  { acquirerId, routeId }: Transaction,
): Candidates {
  const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
  return { acquirerId, processorIds: () => (route ? [route.processorId] : []) };
}

export function findCandidate(switches: Switches, { acquirerId, processorIds }: Candidates): Switch | undefined {
  const [processorId] = processorIds();
  return processorId === undefined ? undefined : switches.find(acquirerId, processorId);
}

/**
 * The first candidate to which another process is signed on, if this process is signed on to none: by the last reports.
 * It costs nothing while every process is signed on everywhere.
 */
export function reachedElsewhere(path: TransactionPath, { acquirerId, processorIds }: Candidates): number | undefined {
  if (path.kind !== 'direct' || !path.others || path.others.leftToOthers().length === 0) return undefined;
  const ids = processorIds();
  return isSignedOn(path.switches, acquirerId, ids) ? undefined : path.others.reaching(acquirerId, ids);
}

/** As `reachedElsewhere`, with the reports read again: before a request is given up. */
export async function lookElsewhere(
  path: TransactionPath,
  { acquirerId, processorIds }: Candidates,
): Promise<number | undefined> {
  if (path.kind !== 'direct' || !path.others) return undefined;
  const ids = processorIds();
  return isSignedOn(path.switches, acquirerId, ids) ? undefined : path.others.lookFor(acquirerId, ids);
}

function isSignedOn(switches: Switches, acquirerId: number, processorIds: readonly number[]): boolean {
  return processorIds.some((id) => switches.find(acquirerId, id)?.isSignedOn === true);
}
