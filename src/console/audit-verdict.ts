import { administratorOf, type PortalSession } from '../auth/portal/portal-session.ts';
import { AuthError, NotFound } from '../basics/errors.ts';
import { ConcurrencyLimit } from '../basics/limits/concurrency-limit.ts';
import { ChainCheck, type ChainFault } from '../observe/audit-chain.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { chainedEvents } from '../store/settings/admin-events.ts';

/** What the hash chains of the admin events say. */
export interface AuditVerdict {
  /** How many events were read. */
  readonly entries: number;
  /** False if reading all of them would have taken too long: `tapwire audit verify` has no limit. */
  readonly isComplete: boolean;
  /** The first ones that were found. */
  readonly faults: readonly ChainFault[];
}

/** @param acquirerId undefined for the chains of all acquirers and of the installation */
export type VerifyAudit = (session: PortalSession, acquirerId: number | undefined) => Promise<AuditVerdict>;

/** Shorter than a person waits; about a million events. */
const WITHIN_MS = 8_000;
const MAX_FAULTS = 20;

/** One person verifies at a time, because it reads everything. */
export function createAuditVerifier(database: Database): VerifyAudit {
  const line = new ConcurrencyLimit({ atOnce: 1, waitMost: 4 });
  return (session, acquirerId) => {
    const { owner, scopes } = administratorOf(session);
    if (!scopes.has('audit:read')) throw new AuthError('FORBIDDEN', 'scope');
    if (owner !== 'operator' && acquirerId === undefined) throw new AuthError('FORBIDDEN', 'owner');
    if (owner !== 'operator' && acquirerId !== owner.acquirerId) throw new NotFound();
    return line.run(() => verify(database, acquirerId));
  };
}

async function verify(database: Database, acquirerId: number | undefined): Promise<AuditVerdict> {
  const check = new ChainCheck();
  const endsAtMs = performance.now() + WITHIN_MS;
  let entries = 0;
  let isComplete = true;
  for await (const event of chainedEvents(database, acquirerId)) {
    check.take(event);
    entries++;
    isComplete = performance.now() < endsAtMs;
    if (!isComplete) break;
  }
  if (isComplete) check.end();
  return { entries, isComplete, faults: check.faults.slice(0, MAX_FAULTS) };
}
