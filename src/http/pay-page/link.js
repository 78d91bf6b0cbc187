// The link that opened this page: its reference from the path, its token from behind the `#`. The token is taken out of the
// address bar at once and kept with this entry of the history, so that a reload still has it and a copied address does not.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Behind the token, by which Android comes back when no app took the intent. */
const NO_APP = 'app=none';

/**
 * @typedef {object} Link
 * @property {string} reference
 * @property {string} token
 * @property {boolean} isWithoutApp this phone has no payment app
 * @property {boolean} isAppTried it was opened by itself already
 */

/** @type {Link | undefined} undefined when the address is not whole */
export const link = readLink();

// Android opens the fallback in the same document.
addEventListener('hashchange', () => {
  readLink();
  location.reload();
});

/** Where the page comes back to when no app takes its intent. */
export function addressWithoutApp({ token }) {
  return `${location.origin}${location.pathname}#${token}&${NO_APP}`;
}

/** From now on the app is opened by hand alone. */
export function rememberThatAppWasTried() {
  history.replaceState({ ...history.state, isAppTried: true }, '');
}

function readLink() {
  const [token, ...flags] = location.hash.slice(1).split('&');
  if (token) {
    const isWithoutApp = flags.includes(NO_APP);
    history.replaceState({ token, isWithoutApp, isAppTried: isWithoutApp }, '', location.pathname + location.search);
  }
  const reference = location.pathname.split('/').at(-1) ?? '';
  const kept = history.state;
  const isWhole = UUID.test(reference) && typeof kept?.token === 'string' && JWT.test(kept.token);
  return isWhole ? { reference, ...kept } : undefined;
}
