import { readFileSync } from 'node:fs';

/** A table of moves as its file declares it, in names. */
export interface StateChart {
  /** The file that has the prose and the table. */
  readonly source: URL;
  /** What may follow what; `null` is the beginning. */
  readonly moves: ReadonlyMap<string | null, readonly string[]>;
  /** More that is to be told of a state, in a column of the table. */
  readonly note?: { readonly title: string; readonly of: (state: string) => string };
}

/** The prose above the table in its file, the moves as a Mermaid diagram, and the same as a table: Markdown. */
export function stateChart(chart: StateChart): string {
  return [proseOf(chart.source), diagramOf(chart.moves), tableOf(chart)].join('\n\n');
}

/** The first block comment of a file: there its states are told in words. @throws Error when it has none */
function proseOf(source: URL): string {
  const [, comment] = /\/\*\*\n([\s\S]*?)\n \*\/\n/.exec(readFileSync(source, 'utf8')) ?? [];
  if (comment === undefined) throw new Error(`${source.pathname} does not begin with its states in prose`);
  return comment.replace(/^ \* ?/gm, '');
}

function diagramOf(moves: StateChart['moves']): string {
  const lines = [...moves].flatMap(([from, to]) => {
    if (from !== null && to.length === 0) return [`  ${from} --> [*]`];
    return to.map((state) => `  ${from ?? '[*]'} --> ${state}`);
  });
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n');
}

function tableOf({ moves, note }: StateChart): string {
  const rows = [...moves].map(([from, to]) => {
    const cells = [from === null ? '(new)' : `\`${from}\``, to.map((state) => `\`${state}\``).join(', ') || 'nothing'];
    return note ? [...cells, from === null ? '' : note.of(from)] : cells;
  });
  const head = ['from', 'to', ...(note ? [note.title] : [])];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
