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
