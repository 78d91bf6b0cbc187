import type { StoredTransaction } from '../../payments/ports/store-ports.ts';
import type { Exchange, MaskedMessage, MessageKeeper } from '../../switching/switches/ports.ts';
import { CopyRows, copyIn } from '../postgres/copy-rows.ts';
import type { Database } from '../postgres/open-database.ts';
import { fromDay } from '../postgres/partitions.ts';

/** Which exchanges are stored: all, those that are not an ordinary approval, or none. */
type KeptMessages = 'all' | 'exceptions' | 'none';

/**
 * Limit of waiting bytes for each class, ordinary and other exchanges; the same amount may be on its way to the
 * database. That is two to four seconds of the highest measured tap rate: longer than any commit, and small compared
 * to the process's own memory.
 */
const MAX_WAITING_BYTES = 4 * 1_048_576;
/** One commit then carries the exchanges of a few hundred taps, and a person who looks at once waits this long. */
const WRITE_EVERY_MS = 100;
/** The longest message of any dialect; of a longer one only the length is stored. */
const MAX_MESSAGE_BYTES = 16_384;
/** Limit of the columns. */
const MAX_SMALLINT = 32_767;
const MAX_INTEGER = 2_147_483_647;
const MAX_OUTCOME_CHARACTERS = 64;

const COLUMNS = [
  ...['acquirer_id', 'transaction_id', 'attempt', 'kind', 'number', 'processor_id', 'connection', 'sent_at', 'took_ms'],
  ...['outcome', 'masked_request', 'masked_response', 'request_bytes', 'response_bytes'],
];
// One message to the server is one transaction. A crash may lose the last half second: no request waits for this
// fsync.
const COPY = `set local synchronous_commit to off; copy attempt_messages (${COLUMNS.join(', ')}) from stdin (format binary)`;

export interface AttemptMessagesOptions {
  readonly database: Database;
  readonly kept: KeptMessages;
  readonly onError: (error: unknown) => void;
}

/** Counts of messages since the start of the process, and the bytes that wait now. */
export interface MessageCounts {
  readonly kept: number;
  readonly dropped: number;
  readonly waitingBytes: number;
}

/** Exchanges of one class: those that wait, and those that are being written. */
interface Lane {
  waiting: CopyRows;
  writing: CopyRows;
}

/**
 * Stores requests to switches and their responses for people. It is not on the path of a tap: taps do not wait for
 * it, and exchanges that the database does not take in time are dropped and counted. All messages are masked before
 * they arrive here.
 */
export class AttemptMessages implements MessageKeeper {
  readonly isKeeping: boolean;
  readonly #options: AttemptMessagesOptions;
  readonly #odd = newLane();
  readonly #routine = newLane();
  #kept = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: AttemptMessagesOptions) {
    this.#options = options;
    this.isKeeping = options.kept !== 'none';
  }

  get counts(): MessageCounts {
    const rows = [this.#odd, this.#routine].flatMap(({ waiting, writing }) => [waiting, writing]);
    const waitingBytes = rows.reduce((sum, { count, lengthBytes }) => sum + (count === 0 ? 0 : lengthBytes), 0);
    return { kept: this.#kept, dropped: this.#dropped, waitingBytes };
  }

  keep(exchange: Exchange): void {
    const { kept } = this.#options;
    if (kept === 'none' || (kept === 'exceptions' && exchange.isRoutine)) return;
    const { waiting } = exchange.isRoutine ? this.#routine : this.#odd;
    if (this.#isClosed || waiting.lengthBytes >= MAX_WAITING_BYTES) {
      this.#dropped++;
      return;
    }
    writeRow(waiting, exchange);
    this.#writeSoon();
  }

  /** Writes the waiting exchanges, and ends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    await this.#writeAll();
  }

  #writeSoon(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#writing = this.#writeAll().finally(() => {
        this.#timer = undefined;
        if (this.#odd.waiting.count + this.#routine.waiting.count > 0 && !this.#isClosed) this.#writeSoon();
      });
    }, WRITE_EVERY_MS).unref();
  }

  /**
   * Unusual exchanges first. Each class is written separately, so that a row which the database refuses affects only
   * its own class.
   */
  async #writeAll(): Promise<void> {
    await this.#write(this.#odd);
    await this.#write(this.#routine);
  }

  async #write(lane: Lane): Promise<void> {
    const rows = lane.waiting;
    if (rows.count === 0) return;
    lane.waiting = lane.writing;
    lane.writing = rows;
    try {
      await copyIn(this.#options.database, COPY, rows.finish());
      this.#kept += rows.count;
    } catch (error) {
      this.#dropped += rows.count;
      this.#options.onError(error);
    } finally {
      rows.clear();
    }
  }
}

function newLane(): Lane {
  return { waiting: new CopyRows(COLUMNS.length), writing: new CopyRows(COLUMNS.length) };
}

function writeRow(rows: CopyRows, exchange: Exchange): void {
  const { about, kind, number, processorId, connectionId, sentAtMs, tookMs, outcome, request, response } = exchange;
  rows.begin();
  rows.int4(about.acquirerId);
  rows.uuid(about.id);
  rows.int2(Math.min(about.attempt, MAX_SMALLINT));
  rows.text(kind);
  rows.int2(Math.min(number, MAX_SMALLINT));
  rows.int4(processorId);
  rows.text(connectionId);
  rows.timestamp(sentAtMs);
  rows.int4(Math.min(tookMs, MAX_INTEGER));
  rows.text(outcome.substring(0, MAX_OUTCOME_CHARACTERS));
  rows.bytes(bytesOf(request));
  rows.bytes(bytesOf(response));
  rows.int4(lengthOf(request));
  rows.int4(lengthOf(response));
}

function bytesOf(message: MaskedMessage | undefined): Uint8Array | null {
  return message instanceof Uint8Array && message.length <= MAX_MESSAGE_BYTES ? message : null;
}

/** Length of a message that is not stored itself. */
function lengthOf(message: MaskedMessage | undefined): number | null {
  if (message === undefined || bytesOf(message) !== null) return null;
  return typeof message === 'number' ? message : message.length;
}

/** One stored exchange with a switch. */
export interface KeptExchange extends Pick<Exchange, 'kind' | 'number' | 'processorId' | 'tookMs' | 'outcome'> {
  readonly attempt: number;
  readonly connection: string;
  /** ISO 8601. */
  readonly sentAt: string;
  readonly request: MaskedMessage | null;
  readonly response: MaskedMessage | null;
}

interface FoundExchange extends Omit<KeptExchange, 'sentAt' | 'request' | 'response'> {
  readonly sentAt: Date;
  readonly request: Uint8Array | null;
  readonly response: Uint8Array | null;
  readonly requestBytes: number | null;
  readonly responseBytes: number | null;
}

/** Limit per transaction; for a silent switch a reversal is repeated a few dozen times at most. */
const MAX_SHOWN = 200;

const FIND = `
select attempt, kind, number, processor_id as "processorId", connection, sent_at as "sentAt", took_ms as "tookMs", outcome,
  masked_request as request, masked_response as response, request_bytes as "requestBytes", response_bytes as "responseBytes"
from attempt_messages where acquirer_id = $1 and transaction_id = $2 and ${fromDay('$3::timestamptz')}
order by sent_at, attempt, number limit ${MAX_SHOWN}`;

/** The stored exchanges of a transaction, oldest first. */
export async function findMessages(
  database: Database,
  { acquirerId, id, createdAtMs }: StoredTransaction,
): Promise<KeptExchange[]> {
  const { rows } = await database.query<FoundExchange>(FIND, [acquirerId, id, new Date(createdAtMs)]);
  return rows.map(({ request, response, requestBytes, responseBytes, sentAt, ...row }) => ({
    ...row,
    sentAt: sentAt.toISOString(),
    request: request ?? requestBytes,
    response: response ?? responseBytes,
  }));
}

/** A stored payment or refund with its response, as a simulated switch replays it. */
export interface RecordedExchange {
  /** The type of the processor. */
  readonly type: string;
  /** ISO 8601. */
  readonly sentAt: string;
  readonly tookMs: number;
  readonly outcome: string;
  readonly request: Uint8Array;
  /** Null without a response. */
  readonly response: Uint8Array | null;
}

const RECORDED = `
select p.type, m.sent_at as "sentAt", m.took_ms as "tookMs", m.outcome, m.masked_request as request, m.masked_response as response
from attempt_messages m join processors p on p.acquirer_id = m.acquirer_id and p.id = m.processor_id
where m.acquirer_id = $1 and m.processor_id = $2 and m.kind = 'authorization' and m.sent_at >= $3 and m.sent_at < $4
  and ${fromDay('$3::timestamptz')} and m.masked_request is not null and m.response_bytes is null
order by m.sent_at limit $5`;

/** The payments and refunds of a processor in a time, oldest first; without those whose messages could not be masked. */
export async function findRecorded(
  database: Database,
  asked: {
    readonly acquirerId: number;
    readonly processorId: number;
    readonly since: Date;
    readonly until: Date;
    readonly limit: number;
  },
): Promise<RecordedExchange[]> {
  const { acquirerId, processorId, since, until, limit } = asked;
  const { rows } = await database.query<Omit<RecordedExchange, 'sentAt'> & { readonly sentAt: Date }>(RECORDED, [
    ...[acquirerId, processorId],
    ...[since, until],
    limit,
  ]);
  return rows.map((row) => ({ ...row, sentAt: row.sentAt.toISOString() }));
}
