/** The views of the page, each with an address of its own. */

/**
 * @typedef {object} View
 * @property {RegExp} path regular expression of the view's addresses
 * @property {HTMLElement} element what the view shows
 * @property {(match: string[], query: URLSearchParams) => unknown} open called with the match and the query when the view is shown, or its address changes
 * @property {() => void} [close] called when another view is shown
 */

/** @type {Required<View>[]} */
const views = [];
/** @type {Required<View> | undefined} */
let shown;

/** @param {View} view */
export function addView({ path, element, open, close = () => {} }) {
  views.push({ path, element, open, close });
}

/**
 * Shows another address. `replace`: going back does not lead to the present one.
 *
 * @param {string} address
 * @param {{ replace?: boolean }} [options]
 */
export function go(address, { replace = false } = {}) {
  history[replace ? 'replaceState' : 'pushState'](null, '', address);
  showAddress();
}

/** Shows the view of the present address. */
export function showAddress() {
  const { pathname, search } = location;
  const found = views.find(({ path }) => path.test(pathname)) ?? views[0];
  if (shown !== found) shown?.close();
  shown = found;
  for (const { element } of views) element.hidden = element !== found.element;
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('header nav a'))) {
    if (found.path.test(new URL(link.href).pathname)) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  found.open(found.path.exec(pathname) ?? [], new URLSearchParams(search));
}

export function openRouter() {
  addEventListener('popstate', showAddress);
  document.addEventListener('click', (event) => {
    const link = /** @type {Element} */ (event.target).closest?.('a[data-view]');
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!link || !isPlain) return;
    event.preventDefault();
    go(link.getAttribute('href') ?? '');
    scrollTo(0, 0);
  });
}
