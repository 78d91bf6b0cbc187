import { createServer, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
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
    const book = url && BOOKS.get(url.pathname);
    if (!book) return refuse(response, 404, 'only /ledger and /ledger/entries are here');
    if (request.method !== 'GET') return refuse(response.setHeader('allow', 'GET'), 405, 'GET only');
    response.setHeader('content-type', book.contentType);
    // Destroys the response when its client is gone: there is nobody to report that to.
    pipeline(Readable.from(book.write(ledger, url.searchParams), { highWaterMark: 1 }), response).catch(() => {});
  });
}

interface Book {
  readonly contentType: string;
  /** The text in pieces, made as fast as the client reads. */
  readonly write: (ledger: Ledger, query: URLSearchParams) => Generator<string>;
}

const BOOKS: ReadonlyMap<string, Book> = new Map([
  ['/ledger', { contentType: 'application/json', write: writeLedger }],
  ['/ledger/entries', { contentType: 'application/x-ndjson', write: writeLines }],
]);

const FILTERS = ['processor', 'state', 'rrn', 'stan', 'tid'] as const satisfies (keyof LedgerEntry)[];

function* writeLedger(ledger: Ledger, query: URLSearchParams): Generator<string> {
  yield `{"totals":${JSON.stringify(ledger.totals())},"entries":[`;
  yield* writeEntries(ledger, query, ',');
  yield `],"orphanReversals":${JSON.stringify(ledger.orphans)}}\n`;
}

function* writeLines(ledger: Ledger, query: URLSearchParams): Generator<string> {
  yield* writeEntries(ledger, query, '\n');
  yield '\n';
}

function* writeEntries(ledger: Ledger, query: URLSearchParams, separator: string): Generator<string> {
  const filters = FILTERS.filter((name) => query.has(name)).map((name) => [name, query.get(name)] as const);
  let piece: string[] = [];
  let isFirst = true;
  const takePiece = () => {
    const text = (isFirst ? '' : separator) + piece.join(separator);
    isFirst = false;
    piece = [];
    return text;
  };
  for (const entry of ledger.entries()) {
    if (!filters.every(([name, value]) => entry[name] === value)) continue;
    const { deafFor: _, ...shown } = entry;
    piece.push(JSON.stringify(shown));
    if (piece.length >= PIECE_ENTRIES) yield takePiece();
  }
  if (piece.length > 0) yield takePiece();
}

function refuse(response: ServerResponse, status: number, error: string): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(`${JSON.stringify({ error })}\n`);
}
