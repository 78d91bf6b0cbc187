import { readFileSync } from 'node:fs';

/** A transition table as its file declares it, with names instead of ids. */
export interface StateChart {
  /** The file that contains the prose and the table. */
  readonly source: URL;
  /** The allowed successors of each state; `null` is the beginning. */
  readonly moves: ReadonlyMap<string | null, readonly string[]>;
  /** An additional column of the table. */
  readonly note?: { readonly title: string; readonly of: (state: string) => string };
}

/** The prose above the table in its file, the transitions as a Mermaid diagram, and the same as a table: Markdown. */
export function stateChart(chart: StateChart): string {
  return [proseOf(chart.source), diagramOf(chart.moves), tableOf(chart)].join('\n\n');
}

/** The first block comment of a file, which describes its states. @throws Error when the file has none */
function proseOf(source: URL): string {
  const [, comment] = /\/\*\*\n([\s\S]*?)\n \*\/\n/.exec(readFileSync(source, 'utf8')) ?? [];
  if (comment === undefined) throw new Error(`${source.pathname} has no block comment that describes its states.`);
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
