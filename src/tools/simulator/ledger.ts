import { createServer, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type CardAccount, CardAccounts, PinTries, type TestCard } from './card-accounts.ts';

/**
 * The approvals and reversals of the simulated switches, that is the bank's ledger. Comparing it with the outcomes
 * that a gateway reported to its merchants proves that no money was lost or charged twice.
 */
export interface LedgerEntry {
  readonly processor: string;
  /** Identifies the authorization in the terms of the dialect; a reversal refers to it as its original. */
  readonly key: string;
  readonly kind: 'sale' | 'refund';
  readonly stan: string;
  readonly rrn: string;
  readonly tid: string;
  readonly currencyNumeric: string;
  readonly amountMinor: number;
  /** Less than `amountMinor` for a partial approval. */
  readonly approvedMinor: number;
  readonly authorizationCode: string;
  readonly approvedAtMs: number;
  /** `unbooked`: the switch has charged nothing, and has reported something false about it. */
  state: 'approved' | 'reversed' | 'unbooked';
  /** Whether it is posted to the cardholder's account: at once, or on completion. */
  isPosted: boolean;
  reversedAtMs: number | undefined;
  /** Reversals received for it, including repeated ones and those without a response. */
  reversals: number;
  /** Number of further reversals that get no response. */
  deafFor: number;
  /** The account that it moves, if the issuer has one for the card. */
  readonly account?: CardAccount | undefined;
  /** Only for a faulty switch: what it reported, which may differ from what it did. */
  said?: Said;
}

/** The responses about one authorization that an acquirer can read. A check of the acquirer's ledger needs them. */
export interface Said {
  /** Authorizations received for it, without duplicates that the switch made itself. */
  received: number;
  /** Approvals that were sent, and when the last one was sent on a connection that stayed open. */
  approvals: number;
  approvedAtMs: number | undefined;
  /** Responses that are neither approvals nor uncertain: declines, requests for a PIN. */
  declines: number;
  /** Time of the last response that acknowledged a reversal or reported its original as unknown. */
  acknowledgedAtMs: number | undefined;
  /** Refused reversals. */
  refusedReversals: number;
}

/** A reversal whose original the switch does not know: declined, lost, or overtaken. */
export interface OrphanReversal {
  readonly processor: string;
  readonly originalKey: string;
  readonly tid: string;
  readonly atMs: number;
}

export type ReversalFate = 'reversed' | 'alreadyReversed' | 'ignored' | 'notFound';

/** About a gigabyte of entries. An incomplete ledger would prove nothing, so the switch declines above this limit. */
const MAX_LEDGER_ENTRIES = 2_000_000;

/** Further orphans are counted but not stored, so that a loop of them cannot fill the memory. */
const MAX_ORPHANS = 100_000;

export type NewEntry = Omit<LedgerEntry, 'state' | 'isPosted' | 'reversedAtMs' | 'reversals' | 'deafFor' | 'said'>;

export class Ledger {
  /** The accounts of the issuer's cards. */
  readonly accounts: CardAccounts;
  readonly #entries = new Map<string, LedgerEntry>();
  readonly #orphans: OrphanReversal[] = [];
  readonly #violations = new Map<string, number>();
  #orphanCount = 0;

  constructor(cards: readonly TestCard[] = []) {
    this.accounts = new CardAccounts(cards);
  }

  get isFull(): boolean {
    return this.#entries.size >= MAX_LEDGER_ENTRIES;
  }

  find(processor: string, key: string): LedgerEntry | undefined {
    return this.#entries.get(ledgerKey(processor, key));
  }

  approve(
    entry: NewEntry,
    { deafFor = 0, isPosted = true }: { readonly deafFor?: number; readonly isPosted?: boolean } = {},
  ): void {
    const state = { state: 'approved', isPosted, reversedAtMs: undefined, reversals: 0, deafFor } as const;
    const said = this.find(entry.processor, entry.key)?.said;
    this.#entries.set(ledgerKey(entry.processor, entry.key), { ...entry, ...state, ...(said && { said }) });
    const { account, approvedMinor } = entry;
    if (entry.kind === 'refund') account?.post(approvedMinor);
    else if (isPosted) account?.post(-approvedMinor);
    else account?.hold(approvedMinor);
  }

  /**
   * The responses about an authorization, to be extended. An authorization that was not booked gets an entry with
   * this state.
   */
  saidOf(unbooked: NewEntry): Said {
    let entry = this.find(unbooked.processor, unbooked.key);
    if (entry === undefined) {
      this.approve(unbooked, { isPosted: false });
      entry = this.find(unbooked.processor, unbooked.key)!;
      entry.state = 'unbooked';
    }
    entry.said ??= {
      ...{ received: 0, approvals: 0, approvedAtMs: undefined, declines: 0 },
      ...{ acknowledgedAtMs: undefined, refusedReversals: 0 },
    };
    return entry.said;
  }

  countViolation(name: string): void {
    this.#violations.set(name, (this.#violations.get(name) ?? 0) + 1);
  }

  /** Posts an approval; false when it does not exist or was reversed. */
  complete(processor: string, originalKey: string): boolean {
    const entry = this.find(processor, originalKey);
    if (entry?.state !== 'approved') return false;
    if (!entry.isPosted) {
      entry.account?.release(entry.approvedMinor);
      entry.account?.post(-entry.approvedMinor);
    }
    entry.isPosted = true;
    return true;
  }

  /** Books a reversal. `ignored` leaves the booking unchanged, and the reversal gets no response. */
  reverse(processor: string, originalKey: string, tid: string, atMs: number): ReversalFate {
    const entry = this.find(processor, originalKey);
    if (entry === undefined || entry.state === 'unbooked') {
      this.#orphanCount++;
      if (this.#orphans.length < MAX_ORPHANS) this.#orphans.push({ processor, originalKey, tid, atMs });
      return 'notFound';
    }
    entry.reversals++;
    if (entry.deafFor > 0) {
      entry.deafFor--;
      return 'ignored';
    }
    if (entry.state === 'reversed') return 'alreadyReversed';
    entry.state = 'reversed';
    entry.reversedAtMs = atMs;
    const { account, approvedMinor } = entry;
    if (entry.kind === 'refund') account?.post(-approvedMinor);
    else if (entry.isPosted) account?.post(approvedMinor);
    else account?.release(approvedMinor);
    return 'reversed';
  }

  /** Begins an empty ledger; cards keep their balances. A later reversal of a forgotten entry finds no original. */
  forget(): void {
    this.#entries.clear();
    this.#orphans.length = 0;
    this.#orphanCount = 0;
    this.#violations.clear();
  }

  entries(): IterableIterator<LedgerEntry> {
    return this.#entries.values();
  }

  get orphans(): readonly OrphanReversal[] {
    return this.#orphans;
  }

  totals(): LedgerTotals {
    const orphanReversals = this.#orphanCount;
    const violations = this.#violations.size > 0 ? { violations: Object.fromEntries(this.#violations) } : {};
    const totals = {
      ...violations,
      approved: 0,
      approvedMinor: 0,
      posted: 0,
      postedMinor: 0,
      reversed: 0,
      reversedMinor: 0,
      orphanReversals,
    };
    for (const { state, isPosted, approvedMinor } of this.#entries.values()) {
      if (state === 'approved' && isPosted) {
        totals.posted++;
        totals.postedMinor += approvedMinor;
      }
      if (state === 'approved') {
        totals.approved++;
        totals.approvedMinor += approvedMinor;
      } else if (state === 'reversed') {
        totals.reversed++;
        totals.reversedMinor += approvedMinor;
      }
    }
    return totals;
  }
}

/**
 * `approved` counts only present approvals; reversed ones count under `reversed`. Minor units of all currencies
 * together.
 */
export interface LedgerTotals {
  readonly approved: number;
  readonly approvedMinor: number;
  /** Present approvals, except those whose completion has not arrived. */
  readonly posted: number;
  readonly postedMinor: number;
  readonly reversed: number;
  readonly reversedMinor: number;
  readonly orphanReversals: number;
  /** Only for faulty switches: number of violations by name. */
  readonly violations?: Readonly<Record<string, number>>;
}

function ledgerKey(processor: string, key: string): string {
  return `${processor}|${key}`;
}

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
