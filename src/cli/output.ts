import { styleText } from 'node:util';
import { findCurrency, formatAmount } from '../payments/model/money.ts';

/** Where a command shows its progress: a terminal, whose lines can be rewritten, or a file or pipe. */
export interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Assumed width of a terminal that does not report it. */
const DEFAULT_COLUMNS = 80;

/** Cuts a line to the width of the terminal, because a wrapped line could not be rewritten. */
export function cutTo(output: Output, line: string): string {
  return line.slice(0, widthOf(output));
}

/** Breaks a long line between words, so that the further lines are indented. Files and pipes get the whole line. */
export function wrapTo(output: Output, line: string, indent: number): string {
  if (!output.isTTY || line.length <= widthOf(output)) return line;
  const lines = [''];
  for (const word of line.split(/(?<=\S) /)) {
    const last = lines.at(-1)!;
    if (last.trim() !== '' && last.length + word.length > widthOf(output)) lines.push(`${' '.repeat(indent)}${word} `);
    else lines[lines.length - 1] = `${last}${word} `;
  }
  return lines.map((each) => each.trimEnd()).join('\n');
}

/** A pseudo-terminal can report 0 columns. A character in the last column would move some terminals to the next line. */
function widthOf({ columns }: Output): number {
  return (columns || DEFAULT_COLUMNS) - 1;
}

/**
 * Text in the colour of its meaning, if the output is a terminal with colours. `NO_COLOR` switches colours off,
 * `FORCE_COLOR` switches them on in files and pipes.
 */
export const good = (text: string, output?: Output) => styled('green', text, output);
export const poor = (text: string, output?: Output) => styled('yellow', text, output);
export const bad = (text: string, output?: Output) => styled('red', text, output);

function styled(style: Parameters<typeof styleText>[0], text: string, output: Output = process.stdout): string {
  return styleText(style, text, { stream: output as NodeJS.WriteStream });
}

/** The columns of a table for rows of one kind. */
export interface Columns<Row> {
  readonly titles: readonly string[];
  cellsOf(row: Row): readonly string[];
}

/** Prints a list as a table for a person, or as JSON for a program. */
export function printList<Row>(rows: readonly Row[], columns: Columns<Row>, asJson: boolean): void {
  console.log(asJson ? JSON.stringify(rows, null, 2) : listOf(rows, columns));
}

export function listOf<Row>(rows: readonly Row[], { titles, cellsOf }: Columns<Row>): string {
  return tableOf([titles, ...rows.map(cellsOf)]);
}

/** Formats rows as a table for a person. A column is as wide as its widest cell; the last one is not padded. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, at) => {
      widths[at] = Math.max(widths[at] ?? 0, cell.length);
    });
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join('  ')
      .trimEnd();
  return rows.map(lineOf).join('\n');
}

/** Minor units for a person: `ZAR 10.00`. */
export function showAmount(amountMinor: number, code: string): string {
  const currency = findCurrency(code);
  return currency === undefined
    ? `${code} ${amountMinor} minor units`
    : `${code} ${formatAmount(amountMinor, currency)}`;
}

/** Major units as a number, as webhooks contain them, for a person: 10 -> `ZAR 10.00`. */
export function showMajor(amount: number, code: string): string {
  return `${code} ${amount.toFixed(findCurrency(code)?.exponent)}`;
}
