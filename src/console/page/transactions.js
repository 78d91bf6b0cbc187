import { countTransactions, listTransactions, readChanges } from './ask.js';
import { byId, count, keepInStep, setText } from './dom.js';
import { isExporting, startExport } from './export.js';
import { addressOf, fillForm, filterOf, openFilters, readAddress, readForm } from './list-filter.js';
import { listRow, openColumns } from './list-row.js';
import { withholdCards } from './may-be-card.js';
import { addView, go } from './router.js';
import { clockTime, time, whenZoneChanges, zoneName } from './time.js';

/** @typedef {import('./list-row.js').Row} Row */
/** @typedef {{ rows: Row[], next: object | null, by: string[], searchedFrom: string | null }} Page of the list */

/** `/ops/transactions`: the list of transactions, newest first. */

const LOOKED_EVERY_MS = 4_000;
/** A request asks about at most this many rows again. */
const MAX_WATCHED = 500;
/** Later, an outcome changes only with a void or a reversal; reloading the list shows it. */
const WATCHED_FOR_MS = 15 * 60_000;
/** @type {Record<string, string>} */
const BY = {
  id: 'id',
  reference: 'merchant reference',
  correlationId: 'correlation id',
  rrn: 'RRN',
  stan: 'STAN',
  stanAndTerminal: 'STAN and terminal',
  maskedPan: 'masked card number',
  lastFour: 'last four digits of the card',
  panHash: 'card',
  amount: 'amount',
  merchantName: 'merchant name',
};

/** @type {Record<string, string>} */
let values = {};
/** @type {Record<string, string>} What the person typed that may be a card number; it is forgotten when another address is shown. */
let withheld = {};
/** @type {Row[]} */
let rows = [];
/** @type {object | null} */
let next = null;
/** @type {string | undefined} */
let shownAddress;
/** @type {{ withheld: Record<string, string>, opensOne: boolean } | undefined} What the person typed, until its list is shown. */
let submitted;
/** @type {ReturnType<typeof setInterval> | undefined} */
let watching;
/** @type {number | undefined} The time at which the shown rows were those of the gateway. */
let presentAtMs;
/** A response to an earlier request is dropped. */
let asked = 0;

export function openTransactions() {
  addView({ path: /^\/ops\/transactions\/?$/, element: byId('list'), open, close: () => clearInterval(watching) });
  openColumns();
  openFilters(() => submit({ ...readForm(), q: values.q ?? '' }, false));
  byId('search').onsubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    search(byId('query').value.trim());
    byId('list').focus({ preventScroll: true });
  };
  byId('list-new').onclick = () => reload();
  byId('list-more').onclick = () => more();
  byId('list-export').onclick = () => startExport(filterOf({ ...values, ...withheld }));
  byId('list-clear').onclick = () => go('/ops/transactions');
  whenZoneChanges(() => {
    fillForm({ ...values, ...withheld });
    showRows();
  });
}

/**
 * Shows the list of what the person typed. The address does not have what may be a card number, so it can be the present one.
 *
 * @param {Record<string, string>} typed
 * @param {boolean} opensOne
 */
function submit(typed, opensOne) {
  const { named, withheld: hidden } = withholdCards(typed);
  submitted = { withheld: hidden, opensOne };
  go(addressOf(named));
}

/**
 * Shows the list of a search that the person has submitted, also if its address is the present one. It searches
 * everything: a filter that was chosen for another list would hide what the person looks for.
 *
 * @param {string} text
 */
function search(text) {
  submit({ q: text }, text !== '');
}

/**
 * Coming back to the same address shows the same rows, at the same place.
 *
 * @param {string[]} _match
 * @param {URLSearchParams} query
 */
function open(_match, query) {
  watching = restart(watching);
  const isShown = String(query) === shownAddress && rows.length > 0;
  const { withheld: typed = {}, opensOne } = submitted ?? {};
  if (isShown && !submitted) return;
  submitted = undefined;
  withheld = typed;
  values = readAddress(query);
  // A card number is removed from the input; the result shows it masked.
  byId('query').value = values.q ?? '';
  fillForm({ ...values, ...withheld });
  void reload({ opensOne });
}

/** @param {typeof watching} timer */
function restart(timer) {
  clearInterval(timer);
  return setInterval(() => void look(), LOOKED_EVERY_MS);
}

/** @param {{ opensOne?: boolean }} [options] */
async function reload({ opensOne = false } = {}) {
  const mine = ++asked;
  shownAddress = new URLSearchParams(location.search).toString();
  byId('list').setAttribute('aria-busy', 'true');
  setText(byId('list-said'), '');
  setText(byId('list-old'), '');
  presentAtMs = undefined;
  setText(byId('list-total'), 'Searching');
  try {
    const filter = filterOf({ ...values, ...withheld });
    const page = await listTransactions(filter);
    if (mine !== asked) return;
    rows = page.rows;
    next = page.next;
    byId('list-new').hidden = true;
    showRows();
    showMeanings(page);
    isPresent();
    if (opensOne && rows.length === 1) return go(`/ops/transactions/${rows[0].id}`);
    await showTotal(filter, mine);
  } catch (error) {
    if (mine === asked) fail(error);
  } finally {
    if (mine === asked) byId('list').removeAttribute('aria-busy');
  }
}

/** @param {{ message: string }} error */
function fail({ message }) {
  setText(byId('list-total'), 'Not shown');
  setText(byId('list-said'), message);
  [rows, next] = [[], null];
  showRows();
  byId('list-none').hidden = true;
}

function showRows() {
  setText(byId('list-time'), `Time (${zoneName()})`);
  keepInStep(
    byId('list-rows'),
    rows,
    ({ acquirerId, id }) => `${acquirerId} ${id}`,
    () => listRow(),
  );
  byId('list-more').hidden = next === null;
  byId('list-table').hidden = rows.length === 0;
  byId('list-none').hidden = rows.length > 0;
  byId('list-export').disabled = rows.length === 0 || isExporting();
}

/**
 * How the search term was understood, and how far back the search reached.
 *
 * @param {Page} page
 */
function showMeanings({ by, searchedFrom }) {
  const meanings = by.length > 0 ? [`Found by ${by.map((each) => BY[each]).join(' and ')}.`] : [];
  const since = searchedFrom ? [`Searched back to ${time(searchedFrom)}. Choose a period to search further back.`] : [];
  setText(byId('list-meaning'), [...meanings, ...since].join(' '));
}

/**
 * @param {object} filter
 * @param {number} mine
 */
async function showTotal(filter, mine) {
  setText(byId('list-total'), next === null ? totalText(rows.length) : `More than ${count(rows.length)} transactions`);
  if (next === null) return;
  const { total } = await countTransactions(filter).catch(() => ({ total: null }));
  if (mine !== asked || total === null) return;
  setText(byId('list-total'), total.isMore ? `More than ${count(total.count)} transactions` : totalText(total.count));
}

/** @param {number} n */
const totalText = (n) => (n === 1 ? '1 transaction' : `${count(n)} transactions`);

async function more() {
  const mine = asked;
  byId('list-more').disabled = true;
  try {
    const page = await listTransactions(filterOf({ ...values, ...withheld }), next);
    if (mine !== asked) return;
    rows = [...rows, ...page.rows];
    next = page.next;
    showRows();
  } catch (error) {
    setText(byId('list-said'), error.message);
  } finally {
    byId('list-more').disabled = false;
  }
}

/** New transactions are announced, and do not move what the person reads; outcomes of shown ones are updated. */
async function look() {
  if (document.hidden || !document.body.classList.contains('is-in') || byId('list').hasAttribute('aria-busy')) return;
  const mine = asked;
  const recent = rows.filter(({ createdAt }) => Date.now() - Date.parse(createdAt) < WATCHED_FOR_MS);
  const shown = recent.slice(0, MAX_WATCHED).map(({ acquirerId, id }) => ({ acquirerId, id }));
  const changes = await readChanges(filterOf({ ...values, ...withheld }), rows[0]?.position, shown).catch(
    () => undefined,
  );
  if (mine !== asked) return;
  if (!changes) {
    if (presentAtMs) setText(byId('list-old'), `Not updated since ${clockTime(presentAtMs)} ${zoneName()}.`);
    return;
  }
  isPresent();
  const present = new Map(changes.rows.map((/** @type {Row} */ row) => [`${row.acquirerId} ${row.id}`, row]));
  rows = rows.map((row) => present.get(`${row.acquirerId} ${row.id}`) ?? row);
  showRows();
  const { newer } = changes;
  byId('list-new').hidden = newer.count === 0;
  setText(byId('list-new'), `${count(newer.count)}${newer.isMore ? '+' : ''} new: show`);
}

function isPresent() {
  presentAtMs = Date.now();
  setText(byId('list-old'), '');
}
