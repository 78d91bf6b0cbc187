import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Ledger, LedgerEntry } from './ledger.ts';

/** Entries are written in pieces of about this size, so that a large ledger needs no copy of itself in memory. */
const PIECE_ENTRIES = 1_000;

/**
 * Serves the books: `GET /ledger` gives `{ totals, entries, orphanReversals }`, oldest first; `GET /ledger/entries` the
 * entries alone, one on each line, for whoever cannot hold them all. `processor`, `state`, `rrn`, `stan` and `tid` as query
 * parameters choose among the entries.
 */
export function ledgerServer(ledger: Ledger): Server {
  return createServer((request, response) => {
    const url = URL.parse(request.url ?? '/', 'http://ledger');
    const write = url && BOOKS.get(url.pathname);
    if (!write) return refuse(response, 404, 'only /ledger and /ledger/entries are here');
    if (request.method !== 'GET') return refuse(response.setHeader('allow', 'GET'), 405, 'GET only');
    write(ledger, url.searchParams, response).catch(() => response.destroy());
  });
}

type WriteBook = (ledger: Ledger, query: URLSearchParams, response: ServerResponse) => Promise<void>;

const BOOKS: ReadonlyMap<string, WriteBook> = new Map([
  ['/ledger', writeLedger],
  ['/ledger/entries', writeLines],
]);

const FILTERS = ['processor', 'state', 'rrn', 'stan', 'tid'] as const satisfies (keyof LedgerEntry)[];

async function writeLedger(ledger: Ledger, query: URLSearchParams, response: ServerResponse): Promise<void> {
  response.setHeader('content-type', 'application/json');
  response.write(`{"totals":${JSON.stringify(ledger.totals())},"entries":[`);
  await writeEntries(ledger, query, response, ',');
  response.end(`],"orphanReversals":${JSON.stringify(ledger.orphans)}}\n`);
}

async function writeLines(ledger: Ledger, query: URLSearchParams, response: ServerResponse): Promise<void> {
  response.setHeader('content-type', 'application/x-ndjson');
  await writeEntries(ledger, query, response, '\n');
  response.end('\n');
}

async function writeEntries(
  ledger: Ledger,
  query: URLSearchParams,
  response: ServerResponse,
  separator: string,
): Promise<void> {
  const filters = FILTERS.filter((name) => query.has(name)).map((name) => [name, query.get(name)] as const);
  let piece: string[] = [];
  let isFirst = true;
  const writePiece = async () => {
    if (piece.length === 0) return;
    const isRoom = response.write((isFirst ? '' : separator) + piece.join(separator));
    isFirst = false;
    piece = [];
    if (!isRoom) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  };
  for (const entry of ledger.entries()) {
    if (!filters.every(([name, value]) => entry[name] === value)) continue;
    const { deafFor: _, ...shown } = entry;
    piece.push(JSON.stringify(shown));
    if (piece.length >= PIECE_ENTRIES) await writePiece();
    if (response.destroyed) return; // whoever asked is gone
  }
  await writePiece();
}

function refuse(response: ServerResponse, status: number, error: string): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(`${JSON.stringify({ error })}\n`);
}
