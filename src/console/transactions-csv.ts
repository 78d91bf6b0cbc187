/**
 * A cell that begins with one of these is a formula to a spreadsheet, which would run it (CWE-1236), also behind spaces and
 * in the full width of East Asian text.
 */
const FORMULA = /^\s*[=+\-@＝＋－＠]|^[\t\r\n]/;
/** Spreadsheets in countries with a decimal comma split a line at semicolons. */
const NEEDS_QUOTES = /[",;\t\r\n]/;

export type CsvValue = string | number | boolean | null | undefined;

/** One line of a CSV file (RFC 4180). Text that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(cellOf).join(',')}\r\n`;
}

function cellOf(value: CsvValue): string {
  if (value === null || value === undefined) return '';
  const text = typeof value === 'string' && FORMULA.test(value) ? `'${value}` : String(value);
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The title of each column, and its property of a row of the console's list. */
const CSV_COLUMNS = [
  ['id', 'id'],
  ['created_utc', 'createdAt'],
  ['type', 'type'],
  ['status', 'status'],
  ['outcome', 'disposition'],
  ['response_code', 'responseCode'],
  ['needs_review', 'needsReview'],
  ['amount', 'amount'],
  ['currency', 'currency'],
  ['scheme', 'scheme'],
  ['masked_pan', 'maskedPan'],
  ['acquirer', 'acquirerId'],
  ['processor', 'processorId'],
  ['merchant', 'merchantId'],
  ['merchant_name', 'merchant'],
  ['terminal', 'xTid'],
  ['tid', 'tid'],
  ['stan', 'stan'],
  ['rrn', 'rrn'],
  ['merchant_reference', 'merchantReference'],
] as const;

type CsvRow = Readonly<Record<(typeof CSV_COLUMNS)[number][1], CsvValue>>;

export const CSV_TITLES = csvLine(CSV_COLUMNS.map(([title]) => title));

/** The line of a transaction, in the order of the titles. */
export function transactionCsvLine(row: CsvRow): string {
  return csvLine(CSV_COLUMNS.map(([, property]) => row[property]));
}
