/** Where a command shows its progress: a terminal, whose lines can be rewritten, or a file or pipe. */
export interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Assumed width of a terminal that does not report it. */
const USUAL_COLUMNS = 80;

/** Cuts a line to the width of the terminal, because a wrapped line could not be rewritten. */
export function cutTo({ columns = USUAL_COLUMNS }: Output, line: string): string {
  return line.slice(0, columns - 1);
}
