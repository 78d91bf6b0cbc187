import { setImmediate as nextTurn } from 'node:timers/promises';
import { type MessageRow, messageRows } from '../../iso8583/describe.ts';
import type { Exchange, MessageKeeper } from '../../switches/ports.ts';
import { inTransaction } from '../postgres/group-commit.ts';
import type { Database } from '../postgres/open-database.ts';

/**
 * Exchanges that wait to be masked, of each sort: what went as usual, and what did not. They are whole, cards and all, so they
 * must not wait long: at the slowest pace two seconds for the first, and seven for the others.
 */
const MAX_WAITING = { routine: 256, odd: 1_024 };
const LOOK_EVERY_MS = 100;
/** To describe a message takes up to a fifth of a millisecond: after so many the event loop has its turn. */
const DESCRIBED_AT_ONCE = 4;
/** The longest message of any dialect is 16 KB; described it may be five times that, and is not worth keeping then. */
const MAX_MESSAGE_CHARS = 100_000;

/** A message as it is kept: a row for each of its values, in the order of the wire. */
export type KeptMessage = readonly MessageRow[];

const INSERT = `
insert into attempt_messages (acquirer_id, transaction_id, attempt, kind, number, processor_id, connection, sent_at, took_ms, outcome, request, response)
select x.acquirer_id, x.transaction_id, x.attempt, x.kind, x.number, x.processor_id, x.connection, to_timestamp(x.sent_at_ms / 1000), x.took_ms,
  x.outcome, x.request, x.response
from json_to_recordset($1::text::json) as x(acquirer_id integer, transaction_id uuid, attempt integer, kind text, number integer,
  processor_id integer, connection text, sent_at_ms float8, took_ms integer, outcome text, request text, response text)`;

export interface AttemptMessagesOptions {
  readonly database: Database;
  /** How many exchanges may be masked and written at one look: few while the process is busy with taps. */
  readonly ration: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * Keeps what was said to switches and what they answered, for people to look at. It stands beside the way of a tap: taps do not
 * wait for it, and when there is no time for it, messages are dropped and counted; those of ordinary approvals first.
 *
 * Masking is `describe`'s, by its allow-list: of a PAN the masked form, of tracks, PINs, MACs and sensitive tags nothing. What
 * leaves this process is masked.
 */
export class AttemptMessages implements MessageKeeper {
  readonly #options: AttemptMessagesOptions;
  readonly #odd: Exchange[] = [];
  readonly #routine: Exchange[] = [];
  #kept = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: AttemptMessagesOptions) {
    this.#options = options;
  }

  get counts(): { readonly kept: number; readonly dropped: number } {
    return { kept: this.#kept, dropped: this.#dropped };
  }

  keep(exchange: Exchange): void {
    const queue = exchange.isRoutine ? this.#routine : this.#odd;
    const most = exchange.isRoutine ? MAX_WAITING.routine : MAX_WAITING.odd;
    if (this.#isClosed || queue.length >= most) {
      this.#dropped++;
      return;
    }
    queue.push(exchange);
    this.#lookSoon();
  }

  /** Writes what is at hand, and ends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    await this.#write(this.#take(Number.POSITIVE_INFINITY));
  }

  #lookSoon(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#writing = this.#write(this.#take(this.#options.ration())).finally(() => {
        this.#timer = undefined;
        if (this.#odd.length + this.#routine.length > 0) this.#lookSoon();
      });
    }, LOOK_EVERY_MS).unref();
  }

  #take(most: number): Exchange[] {
    const odd = this.#odd.splice(0, most);
    return [...odd, ...this.#routine.splice(0, most - odd.length)];
  }

  async #write(exchanges: readonly Exchange[]): Promise<void> {
    if (exchanges.length === 0) return;
    try {
      const rows: object[] = [];
      for (const [index, exchange] of exchanges.entries()) {
        rows.push(toRow(exchange));
        if (index % DESCRIBED_AT_ONCE === DESCRIBED_AT_ONCE - 1) await nextTurn();
      }
      const values = [JSON.stringify(rows)];
      await inTransaction(this.#options.database, async (client) => {
        // A crash may lose the last half second of it: nobody waits for this fsync.
        await client.query('set local synchronous_commit to off');
        await client.query({ name: 'keep-messages', text: INSERT, values });
      });
      this.#kept += exchanges.length;
    } catch (error) {
      this.#dropped += exchanges.length;
      this.#options.onError(error);
    }
  }
}

function toRow({ about, spec, request, response, ...exchange }: Exchange): object {
  return {
    acquirer_id: about.acquirerId,
    transaction_id: about.id,
    attempt: about.attempt,
    kind: exchange.kind,
    number: exchange.number,
    processor_id: exchange.processorId,
    connection: exchange.connectionId,
    sent_at_ms: exchange.sentAtMs,
    took_ms: exchange.tookMs,
    outcome: exchange.outcome,
    request: maskedText(messageRows(spec, request)),
    response: response === undefined ? null : maskedText(messageRows(spec, response)),
  };
}

/** A row as it is written: without the names of its parts it takes half the room. */
type WrittenRow = readonly [
  path: string,
  depth: number,
  name: string,
  type: string,
  value: string,
  isWithheld: 0 | 1,
  ...details: string[],
];

function writtenRow({ path, depth, name, type, value, withheld, details }: MessageRow): WrittenRow {
  return [path, depth, name, type, value, withheld ? 1 : 0, ...details];
}

function readRow([path, depth, name, type, value, isWithheld, ...details]: WrittenRow): MessageRow {
  return { path, depth, name, type, value, withheld: isWithheld === 1, details };
}

function maskedText(rows: KeptMessage): string {
  const text = JSON.stringify(rows.map(writtenRow));
  return text.length <= MAX_MESSAGE_CHARS ? text : '[]';
}

/** One exchange with a switch, as it was kept. */
export interface KeptExchange extends Pick<Exchange, 'kind' | 'number' | 'processorId' | 'tookMs' | 'outcome'> {
  readonly attempt: number;
  readonly connection: string;
  /** ISO 8601. */
  readonly sentAt: string;
  readonly request: KeptMessage;
  readonly response: KeptMessage | null;
}

type FoundExchange = Omit<KeptExchange, 'sentAt' | 'request' | 'response'> & {
  readonly sentAt: Date;
  readonly request: readonly WrittenRow[];
  readonly response: readonly WrittenRow[] | null;
};

/** Of one transaction; a switch that stays silent has a reversal repeated a few dozen times at most. */
const MAX_SHOWN = 200;

const FIND = `
select attempt, kind, number, processor_id as "processorId", connection, sent_at as "sentAt", took_ms as "tookMs", outcome,
  request::json as request, response::json as response
from attempt_messages where acquirer_id = $1 and transaction_id = $2 order by sent_at, id limit ${MAX_SHOWN}`;

/** What was kept of a transaction's exchanges, oldest first. */
export async function findMessages(
  database: Database,
  { acquirerId, id }: { readonly acquirerId: number; readonly id: string },
): Promise<KeptExchange[]> {
  const { rows } = await database.query<FoundExchange>(FIND, [acquirerId, id]);
  return rows.map(({ request, response, sentAt, ...row }) => ({
    ...row,
    sentAt: sentAt.toISOString(),
    request: request.map(readRow),
    response: response?.map(readRow) ?? null,
  }));
}
