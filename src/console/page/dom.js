/** All content is inserted by these functions as text; none is parsed as markup. */

/** @typedef {unknown} Child of an element: a node, a text, or nothing; lists are flattened */
/**
 * An element that stays, and shows another state of its item.
 *
 * @template Item
 * @typedef {{ element: HTMLElement, update(item: Item): void }} Kept
 */
/**
 * A cell of a row: `of` returns its text, or changes the cell; `mark` returns its class.
 *
 * @template Item
 * @typedef {{ of: (item: Item, cell: any) => unknown, mark?: (item: Item) => string | undefined, isFigure?: boolean }} Cell
 */

/**
 * @param {string} id
 * @returns {any} an element of any kind that has this id
 */
export const byId = (id) => document.getElementById(id);

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [props] attributes; those that begin with `on` are listeners
 * @param {...Child} children
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  const given = /** @type {(Node | string | null | undefined | false)[]} */ (children.flat());
  element.append(...given.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/**
 * A table with titled columns.
 *
 * @param {readonly unknown[]} titles
 * @param {readonly unknown[]} rows
 * @param {{ caption?: Child, [attribute: string]: unknown }} [options] `caption`: what the table shows, where no heading says so
 */
export function table(titles, rows, { caption, ...props } = {}) {
  const head = titles.map((title) => h('th', { scope: 'col' }, title));
  return h(
    'table',
    props,
    caption && h('caption', {}, caption),
    h('thead', {}, h('tr', {}, head)),
    h('tbody', {}, rows),
  );
}

/**
 * Writes only changed text, so that a screen reader or a selection keeps its position.
 *
 * @param {any} element
 * @param {unknown} text
 */
export function setText(element, text) {
  const shown = String(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/**
 * Synchronizes the children of `parent` with `items` by key. An element is created once and then updated, so that
 * it keeps the focus.
 *
 * @template Item
 * @param {any} parent
 * @param {readonly Item[]} items
 * @param {(item: Item) => unknown} keyOf
 * @param {(item: Item) => Kept<Item>} make
 */
export function keepInStep(parent, items, keyOf, make) {
  parent.kept ??= new Map();
  const { kept } = parent;
  const keys = new Set(items.map(keyOf));
  for (const [key, { element }] of kept) {
    if (keys.has(key)) continue;
    element.remove();
    kept.delete(key);
  }
  for (const [at, item] of items.entries()) {
    const key = keyOf(item);
    if (!kept.has(key)) kept.set(key, make(item));
    const { element, update } = kept.get(key);
    update(item);
    if (parent.children[at] !== element) parent.insertBefore(element, parent.children[at] ?? null);
  }
}

/**
 * A row whose cells are functions that return a text or an element. Cells with figures are right-aligned.
 *
 * @template Item
 * @param {readonly Cell<Item>[]} cells
 * @returns {Kept<Item>}
 */
export function rowOf(cells) {
  const tds = cells.map(({ isFigure }) => h('td', { class: isFigure ? 'n' : undefined }));
  const element = h('tr', {}, tds);
  return {
    element,
    update(item) {
      for (const [at, { of, mark }] of cells.entries()) {
        const value = of(item, tds[at]);
        if (value !== undefined) setText(tds[at], value);
        if (mark) tds[at].className = `${cells[at].isFigure ? 'n ' : ''}${mark(item) ?? ''}`.trim();
      }
    },
  };
}

/**
 * A cell with a figure and an optional mark.
 *
 * @template Item
 * @param {(item: Item, cell: any) => unknown} of
 * @param {(item: Item) => string | undefined} [mark]
 * @returns {Cell<Item>}
 */
export const figure = (of, mark) => ({ isFigure: true, of, mark });

/**
 * A word in a colour with the same meaning; created once in a cell and then updated.
 *
 * @param {any} cell
 * @param {string} text
 * @param {string} state
 */
export const chip = (cell, text, state) => {
  cell.chip ??= cell.appendChild(h('span', { class: 'chip' }));
  setText(cell.chip, text);
  cell.chip.dataset.state = state;
};

/**
 * Like `keepInStep` for table rows; an empty table shows a row that says so.
 *
 * @template Item
 * @param {any} tbody
 * @param {readonly Item[]} items
 * @param {(item: Item) => unknown} keyOf
 * @param {(item: Item) => Kept<Item>} make
 * @param {{ columns: number, none: string }} empty
 */
export function keepRows(tbody, items, keyOf, make, { columns, none }) {
  if (items.length > 0) keepInStep(tbody, items, keyOf, make);
  else
    keepInStep(
      tbody,
      [none],
      () => 'none',
      (text) => noteRow(columns, text),
    );
}

/**
 * @param {number} columns
 * @param {string} text
 * @returns {Kept<string>}
 */
function noteRow(columns, text) {
  return { element: h('tr', { class: 'none' }, h('td', { colspan: columns }, text)), update() {} };
}

/**
 * @template Item
 * @param {readonly Item[]} items
 * @param {(item: Item) => number} of
 * @returns {number}
 */
export const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** @param {number} value */
export const count = (value) => whole.format(value);
/** @param {number} value */
export const rate = (value) => (value >= 100 ? whole.format(value) : tenths.format(value));
/** @param {number | null | undefined} value */
export const ms = (value) =>
  value === null || value === undefined ? '–' : value >= 100 ? whole.format(value) : tenths.format(value);
/** @param {number} value */
export const bytes = (value) =>
  value >= 2 ** 30 ? `${tenths.format(value / 2 ** 30)} GB` : `${whole.format(value / 2 ** 20)} MB`;

/** @param {number} seconds */
export function age(seconds) {
  if (seconds < 1) return 'now';
  if (seconds < 120) return `${whole.format(seconds)} s`;
  if (seconds < 7_200) return `${whole.format(seconds / 60)} min`;
  return seconds < 172_800 ? `${whole.format(seconds / 3_600)} h` : `${whole.format(seconds / 86_400)} d`;
}
