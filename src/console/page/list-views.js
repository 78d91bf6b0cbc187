import { byId, h, setText } from './dom.js';

/**
 * Saved views of the list: names of filters, kept in this browser for the person. A view has the address of its list, and
 * an address never has a card number.
 */

const MAX_VIEWS = 50;
const MAX_NAME_CHARS = 60;

/** @type {string} */
let storedAs = '';

/** @returns {Record<string, string>} addresses by name */
function readViews() {
  try {
    return JSON.parse(localStorage.getItem(storedAs) ?? '{}');
  } catch {
    return {};
  }
}

/** @param {Record<string, string>} views */
function write(views) {
  localStorage.setItem(storedAs, JSON.stringify(views));
  draw();
}

/** @param {string} person whose views these are */
export function openViews(person) {
  storedAs = `list views of ${person}`;
  byId('list-views-form').onsubmit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const field = byId('list-views-name');
    const views = {
      ...readViews(),
      [field.value.trim().slice(0, MAX_NAME_CHARS)]: location.pathname + location.search,
    };
    if (Object.keys(views).length > MAX_VIEWS)
      return setText(byId('list-said'), `Remove one of ${MAX_VIEWS} views first.`);
    field.value = '';
    write(views);
  };
  draw();
}

function draw() {
  const views = Object.entries(readViews());
  setText(byId('list-views-title'), views.length === 0 ? 'Views' : `Views (${views.length})`);
  byId('list-views-list').replaceChildren(
    ...views.map(([name, address]) =>
      h(
        'li',
        {},
        h('a', { href: address, 'data-view': true }, name),
        ' ',
        h(
          'button',
          { type: 'button', class: 'act', 'aria-label': `Remove the view ${name}`, onclick: () => drop(name) },
          'Remove',
        ),
      ),
    ),
  );
}

/** @param {string} name */
function drop(name) {
  const { [name]: _dropped, ...others } = readViews();
  write(others);
}
