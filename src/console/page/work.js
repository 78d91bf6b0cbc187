import { isAllowedToAct } from './acts.js';
import { readWork } from './ask.js';
import { byId, h, setText, table } from './dom.js';
import { withholdCards } from './may-be-card.js';
import { whenNamesChange } from './names.js';
import { addView, go } from './router.js';
import { whenZoneChanges } from './time.js';
import { LISTS } from './work-lists.js';

/** @typedef {Record<string, any>} Row */

/**
 * `/ops/work/:list`: lists of webhooks, jobs, settings, users and changes. The filter is in the address, except for what
 * may be a card number: it filters the list once.
 */

/** @type {Record<string, number>} */
const MINUTES = { '1h': 60, '24h': 1_440, '7d': 10_080 };
const ONLY_WHO_MAY_ACT = ['users', 'audit'];

/** @type {string} */
let shownList;
/** @type {Record<string, string>} */
let values = {};
/** @type {Record<string, string>} */
let submitted = {};
/** @type {Row[]} */
let rows = [];
/** @type {object | null | undefined} */
let next;
let reading = 0;

export function openWork() {
  const path = new RegExp(`^/ops/work/(${Object.keys(LISTS).join('|')})/?$`);
  addView({ path, element: byId('work'), open, close: () => reading++ });
  byId('work-more').onclick = () => void read(next);
  byId('work-filters').onsubmit = (/** @type {SubmitEvent & { target: HTMLFormElement }} */ event) => {
    event.preventDefault();
    const given = /** @type {[string, string][]} */ ([...new FormData(event.target)]).filter(
      ([, value]) => value !== '',
    );
    const { named, withheld } = withholdCards(Object.fromEntries(given));
    submitted = withheld;
    const query = new URLSearchParams(named);
    go(`/ops/work/${shownList}${query.size > 0 ? `?${query}` : ''}`);
  };
  const redraw = () => rows.length > 0 && draw();
  whenZoneChanges(redraw);
  whenNamesChange(redraw);
}

/**
 * @param {string[]} match
 * @param {URLSearchParams} query
 */
function open([, list], query) {
  shownList = list;
  const { title, filters } = LISTS[list];
  const named = filters.flatMap(({ name }) => (query.get(name) ? [[name, query.get(name)]] : []));
  values = { ...Object.fromEntries(named), ...submitted };
  submitted = {};
  setText(byId('work-title'), title);
  byId('work-lists').replaceChildren(...Object.entries(LISTS).flatMap(tabOf));
  byId('work-filters').replaceChildren(...filters.map(fieldOf), h('button', { type: 'submit' }, 'Apply'));
  rows = [];
  byId('work-rows').replaceChildren();
  byId('work-acts').replaceChildren();
  void read();
}

/** @param {[name: string, list: { title: string }]} list */
function tabOf([list, { title }]) {
  if (ONLY_WHO_MAY_ACT.includes(list) && !isAllowedToAct()) return [];
  const current = list === shownList ? 'page' : undefined;
  return [h('a', { href: `/ops/work/${list}`, 'data-view': true, 'aria-current': current }, title)];
}

/** @param {import('./work-lists.js').Filter} filter */
function fieldOf({ name, label, options, ...attributes }) {
  const value = values[name] ?? '';
  if (!options) return h('label', {}, `${label} `, h('input', { name, value, autocomplete: 'off', ...attributes }));
  const choices = [['', 'Any'], ...options].map(([each, text]) =>
    h('option', { value: each, selected: each === value }, text),
  );
  return h('label', {}, `${label} `, h('select', { name }, choices));
}

/** @param {Record<string, string>} values */
function filterOf({ acquirer, period, ...others }) {
  const minutes = MINUTES[period];
  return {
    ...others,
    ...(acquirer && { acquirer: Number(acquirer) }),
    ...(minutes && { from: new Date(Date.now() - minutes * 60_000).toISOString() }),
  };
}

/** @param {object | null} [after] */
async function read(after) {
  const mine = ++reading;
  byId('work-more').disabled = true;
  setText(byId('work-said'), '');
  setText(byId('work-total'), 'Reading the list.');
  try {
    const page = await readWork(shownList, filterOf(values), after);
    if (mine !== reading) return;
    rows = after ? [...rows, ...page.rows] : page.rows;
    next = page.next;
    draw();
  } catch (error) {
    if (mine !== reading) return;
    setText(byId('work-total'), '');
    setText(byId('work-said'), error.message);
  }
  byId('work-more').disabled = false;
}

function draw() {
  const { columns, acts } = LISTS[shownList];
  const again = () => read();
  const lines = rows.map((row) =>
    h(
      'tr',
      {},
      columns.map(([, of]) => h('td', {}, of(row, again))),
    ),
  );
  const titles = columns.map(([title]) => title || h('span', { class: 'unseen' }, 'Action'));
  const none = h('p', { class: 'none' }, 'The list is empty.');
  byId('work-rows').replaceChildren(rows.length > 0 ? table(titles, lines) : none);
  byId('work-acts').replaceChildren(...[acts?.(filterOf(values), again)].filter(Boolean));
  byId('work-more').hidden = !next;
  setText(byId('work-total'), `${rows.length}${next ? '+' : ''} shown`);
}
