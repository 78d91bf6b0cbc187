import { StartError } from '../basics/errors.ts';
import { newId } from '../basics/uuid.ts';
import { JobTable } from '../jobs/job-table.ts';
import { findCurrency } from '../payments/model/money.ts';
import { PostgresDirectory } from '../store/directory/directory.ts';
import type { Database } from '../store/postgres/open-database.ts';
import {
  endLostWindowAt,
  type HeldReference,
  listHeld,
  type Release,
  type ReleasedReference,
  readRestore,
  releaseHeld,
  stateRestored,
} from '../store/transactions/lost-window.ts';
import { type EnteredSale, enterSales, type ListedSale } from '../store/transactions/missing-sales.ts';
import { LEAST_AGE_DAYS } from '../tools/archive/archive-month.ts';
import { readCsv, zonedTimeOf } from '../tools/ledger/switch-list.ts';
import { actor, changeOf, onDatabase } from './administration.ts';
import { flag, idOf, needed, readOptions, text } from './arguments.ts';
import { type Columns, listOf } from './output.ts';

export const USAGE = `usage: tapwire restored --lost-from TIME [--lost-until TIME] [--hold-all-taps]
       tapwire restored [--json]
       tapwire restored --lost-until TIME
       tapwire restored --release --all | --acquirer ID [--merchant ID] | --references FILE
       tapwire restored --enter FILE --acquirer ID

The first form states that the database was restored and lacks the commits since --lost-from. Call it before a gateway starts.
STANs then skip ahead, and requests that could repeat lost ones are held with 503 until you have compared the books with
those of the switches ("After a restore" in src/observe/README.md). Without options, it shows what is held.

  --lost-from      the last moment whose commits are certainly in the database, such as 2026-11-20T10:00:00Z
  --lost-until     when the last gateway stopped that worked with the lost commits (now); a tap that its reader made
                   three minutes later is new
  --hold-all-taps  hold such taps as well
  --release        after the comparison: no longer hold requests of a merchant, of an acquirer, or of references in a CSV
                   file with the columns acquirer, merchant and reference; --all ends the comparison
  --enter          enter the sales that only the switch has, from a file of tapwire verify-ledger --csv; add the columns merchant
                   and reference if they are known. They need review, and are resolved as any other transaction
  --json           print what is held as JSON`;

const OPTIONS = {
  ...{ 'lost-from': text, 'lost-until': text, 'hold-all-taps': flag },
  ...{ release: flag, all: flag, acquirer: text, merchant: text, references: text, enter: text, json: flag },
} as const;

/** `tapwire restored`: states that the database was restored, and shows and releases what is held since. */
export async function run(args: string[]): Promise<number> {
  const values = readOptions(args, OPTIONS);
  const [lostFrom, lostUntil] = [readTime(values, 'lost-from'), readTime(values, 'lost-until')];
  if (values.enter !== undefined) {
    if (values.release || lostFrom !== undefined || lostUntil !== undefined) throw new StartError('BAD_USAGE', USAGE);
    return enter(values.enter, idOf(values.acquirer, '--acquirer'));
  }
  const isOfRelease = values.all || values.acquirer !== undefined || values.references !== undefined;
  if (values.release ? lostFrom !== undefined || lostUntil !== undefined : isOfRelease)
    throw new StartError('BAD_USAGE', USAGE);
  const release = values.release ? await releaseOf(values) : undefined;
  await onDatabase(async (database) => {
    if (release !== undefined) {
      if (!(await releaseHeld(database, actor(), release))) throw notOpen();
    } else if (lostFrom !== undefined) await begin(database, lostFrom, lostUntil, values['hold-all-taps']);
    else if (lostUntil !== undefined && !(await endLostWindowAt(database, actor(), lostUntil))) throw notOpen();
    if (release?.what === 'all') console.log('The comparison is over. Nothing is held.');
    else if (values.json && !release) console.log(JSON.stringify(await jsonOf(database), null, 2));
    else console.log(await statusOf(database));
  });
  return 0;
}

async function begin(
  database: Database,
  lostFrom: Date,
  lostUntil: Date | undefined,
  holdsAllTaps: boolean,
): Promise<void> {
  if (lostUntil !== undefined && lostUntil < lostFrom)
    throw new StartError('BAD_CONFIG', '--lost-until: expected a time after --lost-from');
  const stated = await stateRestored(database, { actor: actor(), lostFrom, lostUntil, holdsAllTaps });
  if (stated === 'future')
    throw new StartError('BAD_CONFIG', '--lost-from and --lost-until: expected times in the past');
  if (stated === 'unused')
    throw new StartError(
      'BAD_CONFIG',
      'No gateway has used this database yet. Is DATABASE_URL that of the restored one?',
    );
}

type Values = ReturnType<typeof readOptions<typeof OPTIONS>>;

async function releaseOf({ all, acquirer, merchant, references }: Values): Promise<Release> {
  const named = [all, acquirer !== undefined, references !== undefined].filter(Boolean).length;
  if (named !== 1 || (merchant !== undefined && acquirer === undefined)) throw new StartError('BAD_USAGE', USAGE);
  if (all) return { what: 'all' };
  if (references !== undefined) return { what: 'references', references: await readReferences(references) };
  return { what: 'merchant', acquirerId: idOf(acquirer, '--acquirer'), merchantId: merchant ?? null };
}

async function readReferences(path: string): Promise<ReleasedReference[]> {
  const references: ReleasedReference[] = [];
  for await (const { place, field } of readCsv(path, ['acquirer', 'merchant', 'reference'])) {
    const [merchantId, reference] = [field('merchant'), field('reference')];
    if (merchantId === '' || reference === '')
      throw new StartError('BAD_CONFIG', `${place}: expected an acquirer, a merchant and a reference`);
    references.push({ acquirerId: idOf(field('acquirer'), `${place}: acquirer`), merchantId, reference });
  }
  return references;
}

/** Columns of `tapwire verify-ledger --csv` that a sale is entered from. */
const ENTERED_COLUMNS = [
  ...['check', 'processor', 'kind', 'stan', 'rrn', 'tid'],
  ...['currencyNumeric', 'approvedMinor', 'approvedAt'],
];

const DAY_MS = 86_400_000;

/**
 * What the file lists, and how many lines were left out: refunds, because the database cannot say which sale they return, and
 * old sales, because the database cannot say whether it had them in a month that was archived.
 */
async function readMissing(path: string): Promise<{ sales: ListedSale[]; refunds: number; old: number }> {
  const sales: ListedSale[] = [];
  let refunds = 0;
  let old = 0;
  const oldestAtMs = Date.now() - LEAST_AGE_DAYS * DAY_MS;
  for await (const { place, field } of readCsv(path, ENTERED_COLUMNS)) {
    if (field('check') !== 'I1' || field('rrn') === '') continue;
    if (field('kind') === 'refund') {
      refunds++;
      continue;
    }
    const currency = findCurrency(field('currencyNumeric'));
    const approvedAtMs = Date.parse(field('approvedAt'));
    const amountMinor = Number(field('approvedMinor'));
    if (!currency || Number.isNaN(approvedAtMs) || !Number.isSafeInteger(amountMinor) || amountMinor <= 0)
      throw new StartError('BAD_CONFIG', `${place}: expected a sale as tapwire verify-ledger --csv prints it`);
    if (approvedAtMs < oldestAtMs) {
      old++;
      continue;
    }
    sales.push({
      ...{ processor: field('processor'), tid: field('tid'), stan: field('stan'), rrn: field('rrn') },
      ...{ currency: currency.code, amountMinor, approvedAtMs },
      merchantId: field('merchant') || undefined,
      reference: field('reference') || undefined,
    });
  }
  return { sales, refunds, old };
}

const REFUSED: Readonly<Record<Exclude<EnteredSale, 'entered'>, string>> = {
  known: 'the database has it',
  'reference-used': 'the reference belongs to another transaction, or to a link that cannot be paid',
  'no-terminal': 'no terminal, or several, have this TID, or the column merchant must name one of its merchants',
  'no-route': 'no processor of this type has a route',
};

async function enter(path: string, acquirerId: number): Promise<number> {
  const { sales, refunds, old } = await readMissing(path);
  const entered = await onDatabase(async (database) => {
    const directory = await PostgresDirectory.open(database);
    const jobs = await JobTable.open(database, (error) => console.error(String(error)));
    try {
      const parts = { directory, jobs, newId: () => newId(Date.now()) };
      return await enterSales(database, parts, changeOf(acquirerId), sales);
    } finally {
      await jobs.close();
      await directory.close();
    }
  });
  sales.forEach(({ tid, stan, rrn }, at) => {
    const result = entered[at]!;
    if (result !== 'entered') console.log(`TID ${tid}, STAN ${stan}, RRN ${rrn} was not entered: ${REFUSED[result]}.`);
  });
  const count = entered.filter((result) => result === 'entered').length;
  console.log(`${count} sales were entered and need review. Resolve them by the books of the switch.`);
  if (refunds > 0) console.log(`${refunds} refunds were not entered: resolve them with the acquirer.`);
  if (old > 0)
    console.log(
      `${old} sales of more than ${LEAST_AGE_DAYS} days ago were not entered: their months may be archived. See tapwire archive restore.`,
    );
  return old === 0 && entered.every((result) => result === 'entered' || result === 'known') ? 0 : 1;
}

function readTime(values: Values, name: 'lost-from' | 'lost-until'): Date | undefined {
  const given = values[name];
  if (given === undefined) return undefined;
  return needed(zonedTimeOf(given), `--${name}: expected a time with its zone, such as 2026-11-20T10:00:00Z`);
}

function notOpen(): StartError {
  return new StartError(
    'BAD_CONFIG',
    'Nothing is held for this, because no restore was stated or noticed, or its lost time begins later.',
  );
}

async function jsonOf(database: Database): Promise<object> {
  return { restore: (await readRestore(database)) ?? null, references: await listHeld(database) };
}

async function statusOf(database: Database): Promise<string> {
  const restore = await readRestore(database);
  if (!restore) return 'No restore was stated or noticed. Nothing is held.';
  const { lostFrom, lostUntil, holdsAllTaps, released, held } = restore;
  const lines = [
    `The database may lack commits from ${lostFrom.toISOString()} to ${lostUntil.toISOString()}.`,
    holdsAllTaps
      ? 'All taps, new links, and refunds and voids of earlier sales are held.'
      : 'New links, refunds and voids of earlier sales, and taps that could be older are held.',
    ...(released.length > 0 ? [`Released (acquirer, or acquirer and merchant): ${released.join('; ')}.`] : []),
    `${held} references are held:`,
  ];
  return [...lines, listOf(await listHeld(database), COLUMNS)].join('\n');
}

const COLUMNS: Columns<HeldReference> = {
  titles: ['ACQUIRER', 'MERCHANT', 'REFERENCE', 'KIND', 'MINOR UNITS', 'REQUESTS', 'FIRST', 'LAST'],
  cellsOf: ({ acquirerId, merchantId, reference, kind, amountMinor, currency, requests, firstAt, lastAt }) => [
    ...[String(acquirerId), merchantId, reference, kind, amountMinor === null ? '' : `${amountMinor} ${currency}`],
    ...[String(requests), firstAt.toISOString(), lastAt.toISOString()],
  ],
};
