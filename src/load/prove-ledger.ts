import type { LoadResult } from '#schemas/load-result';
import type { Finding } from '../ops/verify-ledger/finding.ts';
import { readLedger } from '../ops/verify-ledger/ledger-lines.ts';
import { verifyLedger } from '../ops/verify-ledger/verify-ledger.ts';
import type { Processor } from '../processor-kit/processor.ts';
import { openDatabase } from '../store/postgres/open-database.ts';
import { SESSION_LIMITS } from '../store/postgres/session-limits.ts';
import type { LoadProfile } from './load-profile.ts';

/** After the last call reversals are still on their way; first attempts are due within the deadline and a few seconds. */
const QUIET_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
/** The money itself (I1 to I4) and the jobs: webhooks may wait for a receiver that is gone, for days. */
const MUST_SETTLE = ['I1', 'I2', 'I3', 'I4', 'J'];

export const NO_LEDGER: LoadResult['ledger'] = {
  ok: null,
  says: 'there was no ledger to compare with',
  violations: [],
};

/**
 * Has the books of gateway and switches compared when no calls come in any more, again and again until nothing is open.
 *
 * @param isAsked whether somebody wants it ended: what is open then is told as open
 */
export async function proveLedger(
  { ledgerUrl, databaseUrl, since }: NonNullable<LoadProfile['books']>,
  types: ReadonlyMap<string, Processor>,
  isAsked: () => boolean,
): Promise<LoadResult['ledger']> {
  const database = await openDatabase(databaseUrl, { maxConnections: 1, limits: SESSION_LIMITS.ledger });
  try {
    const untilMs = performance.now() + QUIET_WITHIN_MS;
    for (;;) {
      const findings = await verifyLedger({ database, ledger: readLedger(ledgerUrl), types, since: new Date(since) });
      const isSettled = findings.every((finding) => finding.violationCount === 0 && openIn(finding) === 0);
      if (isSettled || isAsked() || performance.now() > untilMs) return verdictOf(findings);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  } finally {
    await database.end();
  }
}

function verdictOf(findings: readonly Finding[]): LoadResult['ledger'] {
  const violations = findings.flatMap((finding) =>
    finding.violations.map(({ id, what }) => `${finding.check} ${id}: ${what}`),
  );
  const count = findings.reduce((sum, { violationCount }) => sum + violationCount, 0);
  const open = findings.reduce((sum, finding) => sum + openIn(finding), 0);
  const lookedAt = findings.find(({ check }) => check === 'I1')?.lookedAt ?? 0;
  const compared = `${lookedAt} approvals of the switches compared with the gateway's books`;
  if (count > 0) return { ok: false, says: `${compared}: ${count} violations`, violations };
  if (open > 0) return { ok: false, says: `${compared}: ${open} are not settled yet`, violations };
  return { ok: true, says: `${compared}: no money lost, none taken twice`, violations };
}

function openIn({ check, open }: Finding): number {
  return MUST_SETTLE.includes(check) ? open : 0;
}
