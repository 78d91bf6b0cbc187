import { readCells } from './ask.js';
import { byId, h, setText, table } from './dom.js';
import { addView } from './router.js';
import { time } from './time.js';

/** @typedef {import('./ask.js').Json<import('../../tools/cells/cell-status.ts').CellsReport>} Report */
/** @typedef {Report['cells'][number]} Cell */

/** `/ops/cells`: the cells of the operator, the acquirers in each, and what must be resolved. */

const LOOKED_EVERY_MS = 5_000;
/** @type {Record<string, string>} */
const MARKS = { serving: 'good', arriving: 'warn', leaving: 'warn', gone: '' };
/** @type {ReturnType<typeof setTimeout> | undefined} */
let looking;
/** @type {string | undefined} */
let shownText;

export function openCells() {
  addView({ path: /^\/ops\/cells\/?$/, element: byId('cells'), open, close });
}

function open() {
  close();
  void look();
}

function close() {
  clearTimeout(looking);
  looking = undefined;
}

async function look() {
  const mine = setTimeout(() => void look(), LOOKED_EVERY_MS);
  clearTimeout(looking);
  looking = mine;
  if (document.hidden || !document.body.classList.contains('is-in')) return;
  try {
    const report = await readCells();
    setText(byId('cells-said'), '');
    // Only what has changed is drawn again, so that a selection and the scroll position stay.
    const text = JSON.stringify(report);
    if (text !== shownText) show(report);
    shownText = text;
  } catch (error) {
    setText(byId('cells-said'), error.message);
  }
}

/** @param {Report} report */
function show({ cells, conflicts, omitted }) {
  setText(byId('cells-total'), cells.length === 1 ? '1 cell' : `${cells.length} cells`);
  const alarms = conflicts.map((conflict) => h('p', { class: 'alarm' }, conflict));
  const none =
    cells.length === 0 &&
    conflicts.length === 0 &&
    h('p', { class: 'card' }, 'This is a single installation: no list of cells is configured (CELLS_FILE).');
  const more = omitted > 0 && h('p', {}, `${omitted} further cells are not shown. Use tapwire cell status.`);
  byId('cells-body').replaceChildren(...[...alarms, none, ...cells.map(cellOf), more].filter(Boolean));
}

/** @param {Cell} cell */
function cellOf({ name, url, fault, acquirers }) {
  const state = h('span', { class: 'chip', 'data-state': fault ? 'bad' : 'good' }, fault ? 'fault' : 'responses');
  const rows = acquirers.map(acquirerRow);
  const content = h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': `Acquirers of ${name}` },
    table(['Acquirer', 'State', 'Moves', 'Other cell', 'Last step', 'Time'], rows),
  );
  return h(
    'section',
    { class: 'card' },
    h('h3', {}, `${name} `, state),
    h('p', { class: 'faint' }, url),
    fault && h('p', { class: 'alarm' }, fault),
    rows.length > 0 ? content : h('p', { class: 'none' }, fault ? 'Its acquirers are unknown.' : 'No acquirers.'),
  );
}

/** @param {Cell['acquirers'][number]} acquirer */
function acquirerRow({ id, name, state, generation, peer, lastStep, lastStepAt }) {
  return h(
    'tr',
    {},
    h('td', {}, name ? `${name} (${id})` : String(id)),
    h('td', {}, h('span', { class: 'chip', 'data-state': MARKS[state] ?? 'warn' }, state)),
    h('td', { class: 'n' }, generation),
    h('td', {}, peer ?? '–'),
    h('td', {}, lastStep ?? '–'),
    h('td', {}, lastStepAt ? time(lastStepAt) : '–'),
  );
}
