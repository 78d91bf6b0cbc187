import { REVERSAL_MOVES } from '../../payments/decisions/reversal-steps.ts';
import { DISPOSITION_MOVES, dispositionName } from '../../payments/model/disposition.ts';
import { LINK_STATE_MOVES, linkStateName } from '../../payments/model/link-state.ts';
import { PIN_STATE_MOVES, pinStateName } from '../../payments/model/pin.ts';
import { MUST_NOT_REST, STATUS_MOVES, Status, type StatusName, statusName } from '../../payments/model/status.ts';
import { type StateChart, stateChart } from './state-chart.ts';

const HOME = new URL('../../payments/', import.meta.url);

const CHARTS: Readonly<Record<string, StateChart>> = {
  status: {
    source: new URL('model/status.ts', HOME),
    moves: named(STATUS_MOVES, statusName),
    note: {
      title: 'id, and whether it may rest',
      of: (name) => {
        const id = Status[name as StatusName];
        return `${id}, ${MUST_NOT_REST.includes(id) ? 'only with a job' : 'may rest'}`;
      },
    },
  },
  disposition: { source: new URL('model/disposition.ts', HOME), moves: named(DISPOSITION_MOVES, dispositionName) },
  'pin-step': { source: new URL('model/pin.ts', HOME), moves: named(PIN_STATE_MOVES, pinStateName) },
  'link-state': { source: new URL('model/link-state.ts', HOME), moves: named(LINK_STATE_MOVES, linkStateName) },
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
