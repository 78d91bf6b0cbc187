import { createServer, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Ledger, LedgerEntry } from './ledger.ts';
import { PinTries } from './pin-tries.ts';

/** Entries per written piece, so that a large ledger is not copied completely into memory. */
const PIECE_ENTRIES = 1_000;

/**
 * Serves the ledger. `GET /ledger` returns `{ totals, entries, orphanReversals, cards }`, oldest first. `GET
 * /ledger/entries` returns only the entries, one per line, for clients that cannot keep them all in memory. The
 * query parameters `processor`, `state`, `rrn`, `stan` and `tid` filter the entries. `DELETE /ledger` begins an
 * empty ledger, and `DELETE /pin-tries` forgets the wrong PINs of all cards.
 */
export function ledgerServer(ledger: Ledger, pinTries = new PinTries()): Server {
  return createServer((request, response) => {
    const url = URL.parse(request.url ?? '/', 'http://ledger');
    const forgotten =
      url && (url.pathname === '/pin-tries' ? pinTries : url.pathname === '/ledger' ? ledger : undefined);
    if (forgotten && request.method === 'DELETE') return forget(forgotten, response);
    if (forgotten === pinTries) return refuse(response.setHeader('allow', 'DELETE'), 405, 'DELETE only');
    const book = url && BOOKS.get(url.pathname);
    if (!book) return refuse(response, 404, 'only /ledger, /ledger/entries and /pin-tries exist');
    if (request.method !== 'GET') return refuse(response.setHeader('allow', 'GET'), 405, 'GET only');
    response.setHeader('content-type', book.contentType);
    // Destroys the response when its client disconnects; no one receives the error.
    pipeline(Readable.from(book.write(ledger, url.searchParams), { highWaterMark: 1 }), response).catch(() => {});
  });
}

function forget(what: { forget(): void }, response: ServerResponse): void {
  what.forget();
  response.statusCode = 204;
  response.end();
}

interface Book {
  readonly contentType: string;
  /** The text in pieces, produced as fast as the client reads. */
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
  yield `],"orphanReversals":${JSON.stringify(ledger.orphans)},"cards":${JSON.stringify(ledger.accounts)}}\n`;
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
    const { deafFor: _, account: _account, ...shown } = entry;
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
