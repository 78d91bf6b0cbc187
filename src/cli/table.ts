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
