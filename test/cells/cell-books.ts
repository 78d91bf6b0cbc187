import { setTimeout as sleep } from 'node:timers/promises';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import type { Database } from '../../src/store/postgres/open-database.ts';
import { readLedger } from '../../src/tools/ledger/books.ts';
import { entriesOfCell, verifyLedger } from '../../src/tools/ledger/verify-ledger.ts';
import type { Tap } from '../failover/phones.ts';
import type { OwnCell } from './own-cell.ts';

const LOOK_AGAIN_MS = 5_000;
/** The longest deadline, and reversals that another connection has to confirm after a minute. */
const SETTLE_WITHIN_MS = 240_000;
const MUST_SETTLE = ['I1', 'I2', 'I3', 'I4', 'J'];

export interface BooksToCompare {
  readonly cells: readonly [OwnCell, OwnCell];
  readonly ledgerUrl: string;
  readonly taps: readonly Tap[];
}

/**
 * Compares the books of both cells, the switches and the phones, when nothing is open.
 *
 * @returns what disagrees, one sentence for each
 */
export async function compareCells({ cells, ledgerUrl, taps }: BooksToCompare): Promise<string[]> {
  const giveUpAtMs = performance.now() + SETTLE_WITHIN_MS;
  return cells[0].onDatabase((a) =>
    cells[1].onDatabase(async (b) => {
      for (;;) {
        const { violations, open } = await compareWithSwitches([a, b], ledgerUrl);
        if (open === 0 && violations.length === 0) return compareWithPhones([a, b], taps);
        if (performance.now() > giveUpAtMs) return [...violations, `${open} are unresolved`];
        await sleep(LOOK_AGAIN_MS);
      }
    }),
  );
}

async function compareWithSwitches(databases: readonly [Database, Database], ledgerUrl: string) {
  const types = await loadProcessors();
  const violations: string[] = [];
  let open = 0;
  const known = [];
  for (const database of databases) known.push(await entriesOfCell({ database, ledger: readLedger(ledgerUrl) }));
  for (const [at, database] of databases.entries()) {
    const ofOtherCells = known[1 - at];
    for (const finding of await verifyLedger({ database, ledger: readLedger(ledgerUrl), types, ofOtherCells })) {
      violations.push(...finding.violations.map(({ id, what }) => `cell ${at + 1} ${finding.check} ${id}: ${what}`));
      if (MUST_SETTLE.includes(finding.check)) open += finding.open;
    }
  }
  return { violations, open };
}

const OWN = `acquirer_id not in (select acquirer_id from acquirer_cells where state in ('arriving', 'gone'))`;

/** Every response of a phone is the outcome in the cell that serves its acquirer now; a 503 stored nothing. */
async function compareWithPhones(databases: readonly Database[], taps: readonly Tap[]): Promise<string[]> {
  const stored = new Map<string, { readonly id: string; readonly disposition: number | null }>();
  for (const database of databases) {
    const text = `select id, merchant_reference as reference, disposition from transactions where ${OWN}`;
    const { rows } = await database.query<{ id: string; reference: string; disposition: number | null }>(text);
    for (const { reference, ...row } of rows) stored.set(reference, row);
  }
  return taps.flatMap(({ reference, status, id, outcome }) => {
    const row = stored.get(reference);
    if (status === 503) return row?.disposition === Disposition.Approved ? [`${reference}: 503, and Approved`] : [];
    if (id === undefined) return [];
    if (row?.id !== id) return [`${reference}: responded with ${outcome}, and in no cell`];
    const isApproved = row.disposition === Disposition.Approved;
    return isApproved === (outcome === 'Approved')
      ? []
      : [`${reference}: responded with ${outcome}, stored ${row.disposition}`];
  });
}
