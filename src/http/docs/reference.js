// What a page of the reference adds to its text: search, theme, contents on narrow screens, copy buttons, and targets
// inside folded parts.

/**
 * @param {string} id
 * @returns {any} an element of any kind that has this id
 */
const element = (id) => document.getElementById(id);

/** @typedef {[kind: string, title: string, text: string, path: string]} Entry of the search index */

/** More results than this do not help a reader. */
const MAX_RESULTS = 40;

/** @type {Promise<Entry[]> | undefined} */
let index;
let shown = 0;

const search = element('search');
const results = element('results');

/**
 * Position of an entry for the words: lower is better; undefined if a word is missing.
 *
 * @param {Entry} entry
 * @param {string[]} words
 */
function rank([, title, text], words) {
  const name = title.toLowerCase();
  const all = `${name} ${text.toLowerCase()}`;
  if (!words.every((word) => all.includes(word))) return undefined;
  const first = words[0];
  if (name === words.join(' ')) return 0;
  if (name.startsWith(first)) return 1;
  return words.every((word) => name.includes(word)) ? 2 : 3;
}

/**
 * @param {Entry[]} entries
 * @param {string} query
 */
function find(entries, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return entries
    .map((entry, at) => ({ entry, at, rank: rank(entry, words) ?? Number.NaN }))
    .filter((found) => !Number.isNaN(found.rank))
    .sort((one, other) => one.rank - other.rank || one.at - other.at)
    .map(({ entry }) => entry);
}

async function showResults() {
  const query = search.value.trim();
  shown += 1;
  const turn = shown;
  if (query === '') return hideResults();
  try {
    index ??= fetch('/docs/search.json').then((response) => response.json());
    const found = find(await index, query);
    if (turn !== shown) return;
    element('found').textContent = found.length === 0 ? 'Nothing found' : `${found.length} results`;
    results.replaceChildren(...(found.length === 0 ? [nothing()] : found.slice(0, MAX_RESULTS).map(resultOf)));
  } catch {
    index = undefined;
    results.replaceChildren(message('The search index could not be loaded. Try again.'));
  }
  results.hidden = false;
}

function nothing() {
  return message('Nothing found. Search for a name, a path, a field or an errorCode.');
}

/** @param {string} text */
function message(text) {
  const row = document.createElement('li');
  row.className = 'faint';
  row.textContent = text;
  return row;
}

/** @param {Entry} entry */
function resultOf([kind, title, text, path]) {
  const row = document.createElement('li');
  const link = document.createElement('a');
  link.href = path;
  for (const [name, value] of [
    ['strong', title],
    ['span', kind],
    ['small', text],
  ]) {
    const part = document.createElement(name);
    part.textContent = value;
    link.append(part, ' ');
  }
  row.append(link);
  return row;
}

function hideResults() {
  results.hidden = true;
  element('found').textContent = '';
}

/**
 * Arrow keys move between the field and the results.
 *
 * @param {KeyboardEvent} event
 */
function moveFocus(event) {
  const links = [...results.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  if (event.key === 'Escape') {
    hideResults();
    search.focus();
  } else if (event.key === 'ArrowDown' && links.length > 0) {
    event.preventDefault();
    links[Math.min(at + 1, links.length - 1)].focus();
  } else if (event.key === 'ArrowUp' && at >= 0) {
    event.preventDefault();
    (links[at - 1] ?? search).focus();
  } else if (event.key === 'Enter' && document.activeElement === search && links.length > 0) {
    links[0].click();
  }
}

function startSearch() {
  const box = search.closest('search');
  search.hidden = false;
  search.addEventListener('input', showResults);
  search.addEventListener('focus', showResults);
  box.addEventListener('keydown', moveFocus);
  box.addEventListener('focusout', (/** @type {FocusEvent} */ { relatedTarget }) => {
    if (relatedTarget && !box.contains(relatedTarget)) hideResults();
  });
  results.addEventListener('click', hideResults);
  addEventListener('click', ({ target }) => {
    if (!box.contains(target)) hideResults();
  });
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || /** @type {Element} */ (event.target).closest('input, textarea, select')) return;
    event.preventDefault();
    search.focus();
  });
}

function startTheme() {
  const select = element('theme');
  select.value = document.documentElement.dataset.theme ?? '';
  select.closest('label').hidden = false;
  select.addEventListener('change', () => {
    if (select.value) document.documentElement.dataset.theme = select.value;
    else delete document.documentElement.dataset.theme;
    try {
      localStorage.setItem('tapwire-docs-theme', select.value);
    } catch {
      // The choice lasts for this page.
    }
  });
}

function startMenu() {
  const button = element('menu');
  const contents = element('contents');
  button.hidden = false;
  contents.classList.add('folds');
  button.addEventListener('click', () => {
    const isOpen = contents.classList.toggle('is-open');
    button.ariaExpanded = String(isOpen);
  });
  contents.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
}

function addCopyButtons() {
  for (const figure of document.querySelectorAll('figure.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    const caption = /** @type {HTMLElement} */ (figure.querySelector('figcaption'));
    const pre = /** @type {HTMLElement} */ (figure.querySelector('pre'));
    button.ariaLabel = `Copy ${caption.textContent}`;
    button.addEventListener('click', async () => {
      button.textContent = (await copy(pre)) ? 'Copied' : 'Selected';
      setTimeout(() => (button.textContent = 'Copy'), 2_000);
    });
    caption.append(button);
  }
}

/**
 * Copies the text; without a clipboard (plain HTTP), selects it.
 *
 * @param {HTMLElement} pre
 */
async function copy(pre) {
  try {
    await navigator.clipboard.writeText(pre.textContent ?? '');
    return true;
  } catch {
    getSelection()?.selectAllChildren(pre);
    return false;
  }
}

/** Opens the folded parts around the target of the address. */
function openTarget() {
  const target = element(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let part = target; part; part = part.parentElement?.closest('details'))
    if (part.tagName === 'DETAILS') part.open = true;
  target.querySelector(':scope > details')?.setAttribute('open', '');
  target.scrollIntoView();
}

/** Paper shows every part. */
function openAllForPrint() {
  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = [.../** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll('main details:not([open])'))];
    for (const part of opened) part.open = true;
  });
  addEventListener('afterprint', () => {
    for (const part of opened) part.open = false;
  });
}

startSearch();
startTheme();
startMenu();
addCopyButtons();
openAllForPrint();
openTarget();
addEventListener('hashchange', openTarget);
