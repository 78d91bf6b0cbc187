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
