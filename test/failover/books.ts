import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { openDatabase } from '../../src/store/postgres/open-database.ts';
import type { KeptResponse } from '../../src/tools/load/clients/tap-calls.ts';
import { proveLedger } from '../../src/tools/load/prove-ledger.ts';
import { ResponseFile, responsesPath } from '../../src/tools/load/response-file.ts';
import type { Tap } from './phones.ts';

/** The longest deadline, its job, and reversals that wait for the guard of the switch. */
const SETTLE_WITHIN_MS = 180_000;

export interface Books {
  readonly databaseUrl: string;
  readonly ledgerUrl: string;
  /** Nothing was open then. */
  readonly since: Date;
  readonly taps: readonly Tap[];
}

/**
 * Compares the books of the gateway, the switches (`tapwire verify-ledger`) and the phones, when nothing is open.
 *
 * @returns what disagrees, one sentence for each
 */
export async function compareBooks({ databaseUrl, ledgerUrl, since, taps }: Books): Promise<readonly string[]> {
  const responsesFolder = mkdtempSync(join(tmpdir(), 'tapwire-responds to-'));
  try {
    const responses = new ResponseFile(responsesPath(responsesFolder, 0));
    for (const { id, outcome } of taps)
      if (id !== undefined) responses.add({ id, outcome: outcome as KeptResponse['outcome'] });
    responses.write();
    const ledger = await proveLedger({
      books: { databaseUrl, ledgerUrls: [ledgerUrl], since: since.toISOString() },
      types: await loadProcessors(),
      responsesFolder,
      settleWithinMs: SETTLE_WITHIN_MS,
      isAsked: () => false,
    });
    const disagreements = ledger.ok ? [] : [ledger.description, ...ledger.violations];
    return [...disagreements, ...(await approvedDespiteRefusal(databaseUrl, taps))];
  } finally {
    rmSync(responsesFolder, { recursive: true, force: true });
  }
}

function isRefused({ status, wasRefused = true }: Tap): boolean {
  return status === 503 && wasRefused;
}

/**
 * 503 says that nothing was stored, so the customer was not charged. This is not said of an earlier request without a
 * response.
 */
async function approvedDespiteRefusal(databaseUrl: string, taps: readonly Tap[]): Promise<string[]> {
  const refused = taps.filter(isRefused).map(({ reference }) => reference);
  const database = await openDatabase(databaseUrl, { maxConnections: 1 });
  try {
    const { rows } = await database.query<{ id: string }>(
      'select id from transactions where merchant_reference = any($1) and disposition = $2',
      [refused, Disposition.Approved],
    );
    return rows.map(({ id }) => `refused with 503, and Approved: ${id}`);
  } finally {
    await database.end();
  }
}
