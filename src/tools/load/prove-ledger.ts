import type { LoadResult } from '#schemas/load';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import { openDatabase } from '../../store/postgres/open-database.ts';
import { type Finding, type LedgerLine, readLedgers } from '../ledger/books.ts';
import { verifyLedger } from '../ledger/verify-ledger.ts';
import type { LoadProfile } from './load-profile.ts';
import { readResponses } from './response-file.ts';

/**
 * Comparing the books of a large test takes seconds. The pause before the next comparison is this multiple of the last
 * one.
 */
const REST_FACTOR = 1;
const LOOK_EVERY_MS = 1_000;
/**
 * A violation that persists this long after all transactions have ended is real: no commit can be between the two books
 * then.
 */
const CERTAIN_AFTER_MS = 30_000;
/**
 * If the user has stopped the test, its abandoned calls may still be open, so that the books differ for now. They
 * usually end within the deadline of a switch. A second Ctrl-C ends the process at once.
 */
const SETTLE_STOPPED_MS = 30_000;
/**
 * The money itself (I1 to I4) and the jobs. Webhooks are excluded: they may wait for an unavailable receiver for days.
 */
const MUST_SETTLE = ['I1', 'I2', 'I3', 'I4', 'J'];

export const NO_LEDGER: LoadResult['ledger'] = {
  ok: null,
  description: 'there was no ledger to compare with',
  violations: [],
  checks: [],
};

export interface Proof {
  readonly books: NonNullable<LoadProfile['books']>;
  readonly types: ReadonlyMap<string, Processor>;
  /** The folder in which the workers wrote the responses to clients. */
  readonly responsesFolder: string | undefined;
  /** How long reversals may take to end after the last call. */
  readonly settleWithinMs: number;
  /**
   * Whether the user has asked to stop. If so during the comparison, transactions that are still open are reported as
   * open. If so before, they have a short time to end.
   */
  readonly isAsked: () => boolean;
}

/** Compares the books of gateway and switches when no further calls are sent, repeatedly until nothing is open. */
export async function proveLedger({ books, types, responsesFolder, settleWithinMs, isAsked }: Proof) {
  const database = await openDatabase(books.databaseUrl, { maxConnections: 1, mustExist: true });
  try {
    const wasStopped = isAsked();
    const giveUpAtMs = performance.now() + (wasStopped ? Math.min(SETTLE_STOPPED_MS, settleWithinMs) : settleWithinMs);
    let resolvedAtMs: number | undefined;
    for (;;) {
      const startedAtMs = performance.now();
      const switches = { isPolite: true };
      const findings = await verifyLedger({
        ...{ database, types, since: new Date(books.since) },
        ledger: noting(readLedgers(books.ledgerUrls), switches),
        responses: responsesFolder === undefined ? undefined : readResponses(responsesFolder),
      });
      const hasFault = findings.some(({ violationCount }) => violationCount > 0);
      const isResolved = findings.every((finding) => openIn(finding) === 0);
      resolvedAtMs = isResolved ? (resolvedAtMs ?? startedAtMs) : undefined;
      const isCertain = resolvedAtMs !== undefined && startedAtMs - resolvedAtMs > CERTAIN_AFTER_MS;
      const isOver = (isAsked() && !wasStopped) || isCertain || performance.now() > giveUpAtMs;
      if ((isResolved && !hasFault) || isOver) return verdictOf(findings, switches.isPolite);
      const tookMs = performance.now() - startedAtMs;
      await new Promise((resolve) => setTimeout(resolve, Math.max(LOOK_EVERY_MS, tookMs * REST_FACTOR)));
    }
  } finally {
    await database.end();
  }
}

/** A switch that follows the protocol leaves no transaction that needs review. */
async function* noting(lines: AsyncIterable<LedgerLine>, switches: { isPolite: boolean }): AsyncGenerator<LedgerLine> {
  for await (const line of lines) {
    if (line.said !== undefined) switches.isPolite = false;
    yield line;
  }
}

function verdictOf(findings: readonly Finding[], isPolite: boolean): LoadResult['ledger'] {
  const violations = findings.flatMap((finding) =>
    finding.violations.map(({ id, what }) => `${finding.check} ${id}: ${what}`),
  );
  const sum = (count: (finding: Finding) => number) => findings.reduce((all, finding) => all + count(finding), 0);
  const faults = sum(({ violationCount }) => violationCount);
  const open = sum(openIn);
  const reviews = findings.find(({ check }) => check === 'R')?.inReview ?? 0;
  const lookedAt = findings.find(({ check }) => check === 'I1')?.lookedAt ?? 0;
  const compared = `${lookedAt} approvals of the switches compared with the gateway's books`;
  const checks = findings.map(({ violations: _, violationCount, ...finding }) => {
    return { ...finding, violations: violationCount };
  });
  if (faults > 0) return { ok: false, description: `${compared}: ${faults} violations`, violations, checks };
  if (open > 0) return { ok: false, description: `${compared}: ${open} are unresolved`, violations, checks };
  const inReview = reviews > 0 ? `, ${reviews} in review` : '';
  const ok = isPolite ? reviews === 0 : true;
  return { ok, description: `${compared}: no money lost, none taken twice${inReview}`, violations, checks };
}

function openIn({ check, open }: Finding): number {
  return MUST_SETTLE.includes(check) ? open : 0;
}
