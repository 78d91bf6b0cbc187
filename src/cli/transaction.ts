import { isUuid } from '../basics/uuid.ts';
import type { MessageRow } from '../codecs/iso8583/describe.ts';
import { type ShownExchange, type TransactionStory, tellTransaction } from '../console/transaction-story.ts';
import type { TransactionKey } from '../payments/model/transaction.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { findEvents, findOwned } from '../store/transactions/find-transactions.ts';
import { PostgresEventReader } from '../store/webhooks/webhook-events.ts';
import { onPresentDatabase } from './administration.ts';
import { flag, idOf, onlyOne, readWords, text } from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { listOf } from './output.ts';
import { installedTypes } from './plug-ins.ts';

/** `tapwire transaction ...`: what the database knows about one transaction. */
export const commands: Commands = {
  show: command(
    'ID|REFERENCE|CORRELATION [--acquirer ID] [--json]: show a transaction, its history, messages and webhooks, without card data',
    show,
  ),
};

/** A reference can be used by several merchants; more than a person compares are not listed. */
const MAX_FOUND = 20;
/** No index has correlation ids, because it would slow down every tap. */
const SEARCHED_DAYS = 7;

interface Found extends TransactionKey {
  readonly merchantId: string;
  readonly merchantReference: string;
  readonly createdAt: Date;
}

/** `tapwire transaction show`: one transaction as the console shows it. Several are listed. Exit code 1 if none is found. */
async function show(args: string[]): Promise<number> {
  const options = { acquirer: text, json: flag };
  const { values, words } = readWords(args, options);
  const term = String(onlyOne(words, 'ID, REFERENCE or CORRELATION'));
  const acquirerId = values.acquirer === undefined ? null : idOf(values.acquirer, '--acquirer');
  return onPresentDatabase(async (database) => {
    const found = await findNamed(database, term, acquirerId);
    const [first, ...others] = found;
    if (first === undefined) {
      console.error(
        `tapwire: no transaction has this id or reference, and none of the last ${SEARCHED_DAYS} days this correlation id. A tap that was refused has no row: search the log for the correlation id.`,
      );
      return 1;
    }
    if (others.length > 0) {
      console.log(listOf(found, COLUMNS));
      return 0;
    }
    const story = (await tell(database, first))!;
    console.log(values.json ? JSON.stringify(story, null, 2) : textOf(story));
    return 0;
  });
}

const COLUMNS = {
  titles: ['ACQUIRER', 'MERCHANT', 'ID', 'REFERENCE', 'AT'],
  cellsOf: ({ acquirerId, merchantId, id, merchantReference, createdAt }: Found) => [
    String(acquirerId),
    merchantId,
    id,
    merchantReference,
    createdAt.toISOString(),
  ],
};

const NAMES = `t.acquirer_id as "acquirerId", t.id, t.merchant_id as "merchantId", t.merchant_reference as "merchantReference",
  t.created_at as "createdAt"`;
/** By the primary key of each acquirer, then by the unique index of each merchant. */
const BY_ID = `select ${NAMES} from acquirers a join transactions t on t.acquirer_id = a.id and t.id = $1
  where $2::integer is null or a.id = $2`;
const BY_REFERENCE = `select ${NAMES} from merchants m
  join merchant_references r on r.acquirer_id = m.acquirer_id and r.merchant_id = m.id and r.merchant_reference = $1
  join transactions t on t.acquirer_id = r.acquirer_id and t.id = r.id
  where $2::integer is null or m.acquirer_id = $2 order by t.created_at desc limit ${MAX_FOUND}`;
const BY_CORRELATION = `select ${NAMES} from acquirers a
  join transactions t on t.acquirer_id = a.id and t.created_at > now() - interval '${SEARCHED_DAYS} days' and t.correlation_id = $1
  where $2::integer is null or a.id = $2 order by t.created_at desc limit ${MAX_FOUND}`;

async function findNamed(database: Database, term: string, acquirerId: number | null): Promise<Found[]> {
  const statements = isUuid(term) ? [BY_ID, BY_REFERENCE, BY_CORRELATION] : [BY_REFERENCE];
  for (const statement of statements) {
    const { rows } = await database.query<Found>(statement, [term, acquirerId]);
    if (rows.length > 0) return rows;
  }
  return [];
}

async function tell(database: Database, key: TransactionKey): Promise<TransactionStory | undefined> {
  const { rows: routes } = await database.query<{ id: number; processorId: number }>(
    'select id, processor_id as "processorId" from routes where acquirer_id = $1',
    [key.acquirerId],
  );
  const { rows: merchants } = await database.query<{ id: string; name: string }>(
    'select id, name from merchants where acquirer_id = $1 and id = (select merchant_id from transactions where acquirer_id = $1 and id = $2)',
    [key.acquirerId, key.id],
  );
  const { rows: processors } = await database.query(
    'select acquirer_id as "acquirerId", id, type, config from processors where acquirer_id = $1',
    [key.acquirerId],
  );
  const types = await installedTypes();
  return tellTransaction(
    {
      database,
      transactions: {
        findOwned: (tenant, id) => findOwned(database, tenant, id),
        events: (transaction) => findEvents(database, transaction),
      },
      directory: { merchant: () => merchants[0], routes: () => routes },
      webhooks: new PostgresEventReader(database),
      tables: { types, processors: () => processors },
    },
    key,
  );
}

function textOf({ summary, trail, messages, webhooks, related, resolutions, notes }: TransactionStory): string {
  const known = Object.entries(summary).filter(([, value]) => value !== null && typeof value !== 'object');
  const width = Math.max(...known.map(([name]) => name.length));
  const sections: [title: string, lines: readonly string[]][] = [
    ['', known.map(([name, value]) => `${name.padEnd(width)}  ${value}`)],
    ['History', trail.map(({ at, attempt, ...entry }) => `${at}  attempt ${attempt}  ${wordsOf(entry)}`)],
    ['Messages', messages.flatMap(linesOf)],
    [
      'Webhooks',
      webhooks.map(({ createdAt, type, state, tries }) => `${createdAt}  ${type}  ${state}, attempts ${tries.length}`),
    ],
    ['Refunds and voids', related.map((each) => wordsOf(each))],
    ['Resolutions', resolutions.map((each) => wordsOf(each))],
    ['Notes', notes.map(({ at, author, text: note }) => `${at}  ${author}: ${note}`)],
  ];
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => [...(title === '' ? [] : [`\n${title}`]), ...lines].join('\n'))
    .join('\n');
}

/** A line for the exchange, and one for each field of its messages, masked as they are stored. */
function linesOf({ kind, number, sentAt, tookMs, outcome, request, response }: ShownExchange): string[] {
  const fieldsOf = (title: string, rows: readonly MessageRow[]) =>
    rows.length === 0 ? [] : [`  ${title}`, ...rows.map((row) => fieldOf(row))];
  return [
    `${sentAt}  ${kind} ${number}  ${wordsOf({ outcome, tookMs })}`,
    ...fieldsOf('request', request),
    ...fieldsOf('response', response ?? []),
  ];
}

function fieldOf({ path, depth, name, value }: MessageRow): string {
  return `    ${'  '.repeat(depth)}${path.padEnd(8)} ${name}  ${value}`;
}

/** `from Authorized, to RespondedToPhone`: names and values, without those that are unknown. */
function wordsOf(entry: object): string {
  return Object.entries(entry)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ');
}
