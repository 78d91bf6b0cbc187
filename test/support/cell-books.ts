import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { Finding } from '../../src/tools/ledger/books.ts';
import { entriesOfCell, verifyLedger } from '../../src/tools/ledger/verify-ledger.ts';
import type { TwoCells } from './cells.ts';

/** The findings in the books of both cells, each compared with its part of the ledger of their switch. */
export async function findingsOf({ databases, installation }: TwoCells): Promise<Finding[]> {
  const types = await loadProcessors();
  const ledger = [...installation.ledger];
  const { a, b } = databases;
  const ofA = await entriesOfCell({ database: a, ledger });
  const ofB = await entriesOfCell({ database: b, ledger });
  return [
    ...(await verifyLedger({ database: a, ledger, types, ofOtherCells: ofB })),
    ...(await verifyLedger({ database: b, ledger, types, ofOtherCells: ofA })),
  ];
}
