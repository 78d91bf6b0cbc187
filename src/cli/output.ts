/** Where a command shows how it goes: a terminal, whose lines can be renewed, a file or a pipe. */
export interface Output {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

/** Of terminals that do not say how wide they are. */
const USUAL_COLUMNS = 80;

/** Cut to the width: a line that wraps could not be renewed. */
export function cutTo({ columns = USUAL_COLUMNS }: Output, line: string): string {
  return line.slice(0, columns - 1);
}
