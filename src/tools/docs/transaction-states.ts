import { readFileSync } from 'node:fs';
import { REVERSAL_MOVES } from '../../payments/decisions/reversal-steps.ts';
import { DISPOSITION_MOVES, dispositionName } from '../../payments/model/disposition.ts';
import { LINK_STATE_MOVES, linkStateName } from '../../payments/model/link.ts';
import { PIN_STATE_MOVES, pinStateName } from '../../payments/model/pin.ts';
import { MUST_NOT_REST, STATUS_MOVES, Status, type StatusName, statusName } from '../../payments/model/status.ts';

/** A transition table as its file declares it, with names instead of ids. */
interface StateChart {
  /** The file that contains the prose and the table. */
  readonly source: URL;
  /** The allowed successors of each state; `null` is the beginning. */
  readonly moves: ReadonlyMap<string | null, readonly string[]>;
  /** An additional column of the table. */
  readonly note?: { readonly title: string; readonly of: (state: string) => string };
}

/** The prose above the table in its file, the transitions as a Mermaid diagram, and the same as a table: Markdown. */
function stateChart(chart: StateChart): string {
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

const HOME = new URL('../../payments/', import.meta.url);

const CHARTS: Readonly<Record<string, StateChart>> = {
  status: {
    source: new URL('model/status.ts', HOME),
    moves: named(STATUS_MOVES, statusName),
    note: {
      title: 'id, and whether it may rest',
      of: (name) => {
        const id = Status[name as StatusName];
        return `${id}, ${MUST_NOT_REST.includes(id) ? 'only with an open attempt' : 'may rest'}`;
      },
    },
  },
  disposition: { source: new URL('model/disposition.ts', HOME), moves: named(DISPOSITION_MOVES, dispositionName) },
  'pin-step': { source: new URL('model/pin.ts', HOME), moves: named(PIN_STATE_MOVES, pinStateName) },
  'link-state': { source: new URL('model/link.ts', HOME), moves: named(LINK_STATE_MOVES, linkStateName) },
  reversal: { source: new URL('decisions/reversal-steps.ts', HOME), moves: new Map(Object.entries(REVERSAL_MOVES)) },
};

/** The generated sections of `src/payments/README.md`, by name: one per state machine. */
export function transactionStates(): Record<string, string> {
  return Object.fromEntries(Object.entries(CHARTS).map(([name, chart]) => [name, stateChart(chart)]));
}

function named<Id extends number>(
  moves: ReadonlyMap<Id | null, readonly Id[]>,
  nameOf: (id: Id) => string,
): StateChart['moves'] {
  return new Map([...moves].map(([from, to]) => [from === null ? null : nameOf(from), to.map(nameOf)]));
}
