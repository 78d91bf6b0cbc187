import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { StartError } from '../../basics/errors.ts';
import { currencyOf, findCurrency, parseAmount } from '../../payments/model/money.ts';
import type { LedgerLine } from './books.ts';

/**
 * How the columns of a switch's list become entries of a ledger. Acquirers send such lists as CSV, each with other columns,
 * so an operator describes them once in a JSON file.
 */
const mappingSchema = z.strictObject({
  /** The type of the processor whose switch made the list. */
  processor: z.string(),
  delimiter: z.string().length(1).default(','),
  /** The names of the columns in the first line. */
  columns: z.strictObject({
    stan: z.string(),
    rrn: z.string(),
    tid: z.string(),
    amount: z.string(),
    currency: z.string(),
    /** ISO 8601 with a zone. */
    approvedAt: z.string(),
    kind: z.string().optional(),
    state: z.string().optional(),
  }),
  /** Whether amounts are decimal text (`10.00`) or minor units (`1000`). */
  amountsIn: z.enum(['major', 'minor']),
  /** The values of the column `kind` that mean a refund; all others are sales. */
  refunds: z.array(z.string()).default([]),
  /** The values of the column `state` that mean reversed; all others are approved. */
  reversed: z.array(z.string()).default([]),
  /** The values of the column `state` that are no approvals, such as declines: their lines are left out. */
  ignored: z.array(z.string()).default([]),
});

export type ListMapping = z.output<typeof mappingSchema>;

/** @throws StartError BAD_CONFIG naming what is wrong with the mapping */
export function readMapping(path: string): ListMapping {
  try {
    return mappingSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : (cause as Error).message;
    throw new StartError('BAD_CONFIG', `${path} is not a mapping of a switch's list: ${why}`, { cause });
  }
}

const DIGITS = { stan: 6, rrn: 12 } as const;

/** The moment of an ISO 8601 time; undefined without a zone, because it would be the local time of this machine. */
export function zonedTimeOf(text: string): Date | undefined {
  const time = new Date(text);
  return /(Z|[+-]\d\d:?\d\d)$/.test(text) && !Number.isNaN(time.getTime()) ? time : undefined;
}

/** A line of a CSV file by the names of its first line. */
export interface CsvRecord {
  /** For messages: the file and the number of the line. */
  readonly place: string;
  /** Empty if the line or the file has no such column. */
  field(column: string): string;
}

/**
 * The lines of a CSV file, one by one.
 *
 * @param columns that it must have
 * @throws StartError BAD_CONFIG
 */
export async function* readCsv(path: string, columns: readonly string[], delimiter = ','): AsyncGenerator<CsvRecord> {
  let header: readonly string[] | undefined;
  let number = 0;
  for await (const line of linesOf(path)) {
    number++;
    if (line === '') continue;
    const fields = splitLine(line, delimiter);
    if (header !== undefined) {
      const names = header;
      yield { place: `${path}, line ${number}`, field: (column) => fields[names.indexOf(column)] ?? '' };
      continue;
    }
    header = fields;
    const missing = columns.find((name) => !fields.includes(name));
    if (missing !== undefined) throw new StartError('BAD_CONFIG', `${path} has no column ${missing}.`);
  }
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const file = await open(path).catch((cause) => {
    throw new StartError('BAD_CONFIG', `${path} cannot be read.`, { cause });
  });
  let isFirst = true;
  for await (const line of file.readLines()) {
    yield isFirst ? line.replace(/^\uFEFF/, '') : line;
    isFirst = false;
  }
}

/**
 * The entries of a switch's list, one by one.
 *
 * @throws StartError BAD_CONFIG naming the line and column that cannot be read, without its value
 */
export async function* readSwitchList(path: string, mapping: ListMapping): AsyncGenerator<LedgerLine> {
  const columns = Object.values(mapping.columns).filter((name) => name !== undefined);
  for await (const record of readCsv(path, columns, mapping.delimiter)) {
    const entry = entryOf(record, mapping);
    if (entry) yield entry;
  }
}

/** Fields in quotes may contain the delimiter, and quotes that are doubled (RFC 4180 2.5 to 2.7), but no line breaks. */
function splitLine(line: string, delimiter: string): string[] {
  const fields: string[] = [];
  let field = '';
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!;
    if (character === '"' && isQuoted && line[at + 1] === '"') {
      field += '"';
      at++;
    } else if (character === '"') isQuoted = !isQuoted;
    else if (character === delimiter && !isQuoted) {
      fields.push(field.trim());
      field = '';
    } else field += character;
  }
  return [...fields, field.trim()];
}

function entryOf(
  record: CsvRecord,
  { processor, columns, amountsIn, refunds, reversed, ignored }: ListMapping,
): LedgerLine | undefined {
  const fieldOf = (name: string | undefined) => (name === undefined ? '' : record.field(name));
  const fail = (column: string): never => {
    throw new StartError('BAD_CONFIG', `${record.place}: the column ${column} cannot be read.`);
  };
  const state = fieldOf(columns.state);
  if (columns.state !== undefined && ignored.includes(state)) return undefined;
  const digitsOf = (column: keyof typeof DIGITS) => {
    const digits = fieldOf(columns[column]).padStart(DIGITS[column], '0');
    return digits.length === DIGITS[column] && /^\d+$/.test(digits) ? digits : fail(columns[column]);
  };
  const tid = fieldOf(columns.tid) || fail(columns.tid);
  const approvedAtMs = (zonedTimeOf(fieldOf(columns.approvedAt)) ?? fail(columns.approvedAt)).getTime();
  const currency = currencyNamed(fieldOf(columns.currency)) ?? fail(columns.currency);
  const amountMinor = amountOf(fieldOf(columns.amount), currency, amountsIn) ?? fail(columns.amount);
  const [stan, rrn] = [digitsOf('stan'), digitsOf('rrn')];
  return {
    processor,
    key: `${tid} ${rrn}`,
    kind: refunds.includes(fieldOf(columns.kind)) ? 'refund' : 'sale',
    ...{ stan, rrn, tid },
    currencyNumeric: currency.numeric,
    amountMinor,
    approvedMinor: amountMinor,
    approvedAtMs,
    state: reversed.includes(state) ? 'reversed' : 'approved',
  };
}

/** A currency by letters or digits. */
function currencyNamed(text: string) {
  if (/^\d{3}$/.test(text)) return findCurrency(text);
  try {
    return currencyOf(text);
  } catch {
    return undefined;
  }
}

function amountOf(
  text: string,
  currency: ReturnType<typeof currencyOf>,
  amountsIn: ListMapping['amountsIn'],
): number | undefined {
  if (amountsIn === 'minor') return /^\d{1,12}$/.test(text) ? Number(text) : undefined;
  try {
    return parseAmount(text, currency);
  } catch {
    return undefined;
  }
}
