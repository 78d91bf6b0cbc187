import { chip, h, rowOf, setText } from './dom.js';
import { merchantName, processorName } from './names.js';
import { plainTime } from './time.js';

/** @typedef {import('./ask.js').Json<import('../transaction-browser.ts').TransactionRow>} Row */

/** @type {Record<string, string>} */
const STATES = { Approved: 'good', Declined: 'warn', DeclinedOffline: 'warn', Voided: '', null: '' };
/**
 * `UnableToGoOnline` as people read it.
 *
 * @param {string} name
 */
export const words = (name) =>
  name.replace(/([a-z])([A-Z])/g, (_all, before, after) => `${before} ${after.toLowerCase()}`);

/**
 * A row of the list. On a narrow screen each cell has its title beside it.
 *
 * @returns {import('./dom.js').Kept<Row>}
 */
export function listRow() {
  const row = rowOf([
    { of: showTime },
    { isFigure: true, of: ({ amount, currency }) => (amount === null ? '–' : `${currency} ${amount}`) },
    { of: showOutcome },
    { of: ({ type }) => type },
    { of: ({ scheme, maskedPan }) => [scheme, maskedPan].filter(Boolean).join(' ') },
    { of: ({ merchant, merchantId }) => merchantName(merchant, merchantId) },
    { of: ({ xTid, tid }) => xTid ?? tid ?? '' },
    { of: ({ acquirerId, processorId }) => (processorId === null ? '' : processorName(acquirerId, processorId)) },
    { of: ({ merchantReference }) => merchantReference },
    { of: ({ stan }) => stan ?? '' },
    { of: ({ rrn }) => rrn ?? '' },
  ]);
  const cells = /** @type {HTMLCollectionOf<HTMLElement>} */ (row.element.children);
  for (const [at, title] of TITLES.entries()) cells[at].dataset.title = title;
  for (const [at, kind] of /** @type {[number, string][]} */ (KINDS)) cells[at].classList.add(...kind.split(' '));
  return row;
}

const TITLES = [
  'Time',
  'Amount',
  'Outcome',
  'Type',
  'Card',
  'Merchant',
  'Terminal',
  'Processor',
  'Reference',
  'STAN',
  'RRN',
];
const KINDS = [
  [3, 'broad'],
  [4, 'mono'],
  [7, 'broad'],
  [8, 'mono long'],
  [9, 'mono broad'],
  [10, 'mono broad'],
];

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
function showOutcome({ disposition, status, responseCode, needsReview }, cell) {
  const text = [words(disposition ?? status), responseCode].filter(Boolean).join(' ');
  chip(
    cell,
    needsReview ? `${text}, needs review` : text,
    needsReview ? 'bad' : (STATES[disposition ?? 'null'] ?? 'bad'),
  );
}
