import { byId, chip, h, rowOf, setText } from './dom.js';
import { merchantName, processorName } from './names.js';
import { plainTime } from './time.js';

/** The columns of the list of transactions, and which of them the person wants to see. */

/** @typedef {import('./ask.js').Json<import('../transaction-browser.ts').TransactionRow>} Row */
/** @typedef {import('./dom.js').Cell<Row> & { title: string, kind?: string }} Column `kind`: its classes; `broad` is shown on wide screens */

const STORED_AS = 'list columns';
/** @type {Record<string, string>} */
const STATES = { Approved: 'good', Declined: 'warn', DeclinedOffline: 'warn', Voided: '', null: '' };
/** @type {Record<string, string>} */
const TYPES = { Tap: 'Sale', 'Secure card reader': 'Sale', TT3: 'Mandate' };
/**
 * `UnableToGoOnline` as people read it.
 *
 * @param {string} name
 */
export const words = (name) =>
  name.replace(/([a-z])([A-Z])/g, (_all, before, after) => `${before} ${after.toLowerCase()}`);

/**
 * A kind of transaction as people name it.
 *
 * @param {string} type
 */
export const typeName = (type) => TYPES[type] ?? type;

/** @type {readonly Column[]} */
const COLUMNS = [
  { title: 'Time', of: showTime },
  { title: 'Type', of: showType },
  {
    title: 'Amount',
    isFigure: true,
    of: ({ amount, currency }) => (amount === null ? '–' : `${currency} ${amount}`),
  },
  { title: 'Outcome', of: showOutcome },
  { title: 'Card', kind: 'mono', of: ({ scheme, maskedPan }) => [scheme, maskedPan].filter(Boolean).join(' ') },
  { title: 'Merchant', kind: 'long', of: ({ merchant, merchantId }) => merchantName(merchant, merchantId) },
  { title: 'Terminal', of: ({ xTid, tid }) => xTid ?? tid ?? '' },
  {
    title: 'Processor',
    kind: 'broad',
    of: ({ acquirerId, processorId }) => (processorId === null ? '' : processorName(acquirerId, processorId)),
  },
  { title: 'Reference', kind: 'mono long', of: ({ merchantReference }) => merchantReference },
  { title: 'STAN', kind: 'mono broad', of: ({ stan }) => stan ?? '' },
  { title: 'RRN', kind: 'mono broad', of: ({ rrn }) => rrn ?? '' },
];
const ALWAYS_SHOWN = 1;

/** Titles that the person hid or showed; others follow the width of the screen. @type {Record<string, boolean>} */
const chosen = readChoice();

function readChoice() {
  try {
    return JSON.parse(localStorage.getItem(STORED_AS) ?? '{}');
  } catch {
    return {};
  }
}

/**
 * A row of the list. On a narrow screen each cell has its title beside it.
 *
 * @returns {import('./dom.js').Kept<Row>}
 */
export function listRow() {
  const row = rowOf(COLUMNS);
  for (const [at, { title, kind }] of COLUMNS.entries()) {
    const cell = /** @type {HTMLElement} */ (row.element.children[at]);
    cell.dataset.title = title;
    if (kind) cell.classList.add(...kind.split(' '));
  }
  hideIn(row.element);
  return row;
}

/** Applies the choice of the person to the cells of a row. @param {Element} row */
function hideIn(row) {
  for (const [at, { title, kind = '' }] of COLUMNS.entries()) {
    const cell = /** @type {HTMLElement} */ (row.children[at]);
    cell.hidden = chosen[title] === false;
    cell.classList.toggle('broad', kind.includes('broad') && !chosen[title]);
  }
}

/** Draws the head of the table, and the choice of its columns. */
export function openColumns() {
  const titles = COLUMNS.map(({ title, isFigure }, at) =>
    h('th', { scope: 'col', class: isFigure ? 'n' : undefined, id: at === 0 ? 'list-time' : undefined }, title),
  );
  const head = h('tr', {}, titles);
  byId('list-head').replaceChildren(head);
  hideIn(head);
  const isShown = (/** @type {number} */ at) => getComputedStyle(head.children[at]).display !== 'none';
  const choose = (/** @type {string} */ title, /** @type {boolean} */ isWanted) => {
    chosen[title] = isWanted;
    localStorage.setItem(STORED_AS, JSON.stringify(chosen));
    for (const row of [head, ...byId('list-rows').children]) hideIn(row);
  };
  byId('list-columns').ontoggle = () =>
    byId('list-columns-choice').replaceChildren(
      ...COLUMNS.map(({ title }, at) => {
        const onchange = (/** @type {any} */ { target }) => choose(title, target.checked);
        const box = h('input', { type: 'checkbox', checked: isShown(at), disabled: at < ALWAYS_SHOWN, onchange });
        return h('label', { class: 'check' }, box, ` ${title}`);
      }),
    );
}

/**
 * @param {Row} row
 * @param {any} cell
 */
function showTime({ id, createdAt }, cell) {
  cell.link ??= cell.appendChild(h('a', { 'data-view': true, href: `/ops/transactions/${id}` }));
  setText(cell.link, plainTime(createdAt));
}

/**
 * @param {Row} row
 * @param {any} cell
 */
function showType({ type }, cell) {
  setText(cell, typeName(type));
  // What gives money back must not be read as a sale.
  cell.classList.toggle('back', type === 'Refund' || type === 'Void');
}

/**
 * @param {Row} row
 * @param {any} cell
 */
function showOutcome({ disposition, status, responseCode, needsReview }, cell) {
  const text = [words(disposition ?? status), responseCode].filter(Boolean).join(' ');
  chip(
    cell,
    needsReview ? `${text}, needs review` : text,
    needsReview ? 'bad' : (STATES[disposition ?? 'null'] ?? 'bad'),
  );
}
