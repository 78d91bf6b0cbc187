// The link that opened this page: its reference from the path, its token from the fragment. The page removes the
// token from the address bar at once and keeps it with this history entry. A reload therefore still has it, and a
// copied address does not.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** Fragment part after the token with which Android returns if no app took the intent. */
const NO_APP = 'app=none';

/**
 * @typedef {object} Link
 * @property {string} reference
 * @property {string} token
 * @property {boolean} isWithoutApp this phone has no payment app
 * @property {boolean} isAppTried the page already opened the app automatically
 */

/** @type {Link | undefined} undefined if the address is incomplete */
export const link = readLink();

// Android opens the fallback URL in the same document.
addEventListener('hashchange', () => {
  readLink();
  location.reload();
});

/**
 * The address to which Android returns if no app takes the intent.
 *
 * @param {Pick<Link, 'token'>} link
 */
export function addressWithoutApp({ token }) {
  return `${location.origin}${location.pathname}#${token}&${NO_APP}`;
}

/** After this call, only the customer opens the app, with the button. */
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
