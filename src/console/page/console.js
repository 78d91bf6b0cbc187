import { openAccount } from './account.js';
import { setMayAct } from './acts.js';
import { logIn, logOut, readSession, whenOver, whenUnavailable } from './ask.js';
import { openCells } from './cells.js';
import { openCharts, redrawCharts } from './charts.js';
import { openCodec } from './codec.js';
import { byId } from './dom.js';
import { openHistory } from './history.js';
import { openKeys } from './keys.js';
import { openViews } from './list-views.js';
import { follow, stop } from './live.js';
import { openNames } from './names.js';
import { look, whenAvailable } from './outage.js';
import { addView, openRouter, showAddress } from './router.js';
import { openSettings } from './settings.js';
import { openSignIn, rememberPage, takeFailure } from './sign-in.js';
import { openZones } from './time.js';
import { openTransactionView } from './transaction.js';
import { openTransactions } from './transactions.js';
import { openWork } from './work.js';

/** Time until the next request to a gateway that cannot respond. */
const ASKED_AGAIN_MS = 2_000;
const login = byId('login');
/** @type {string | undefined} */
let person;

/** @param {{ username: string, role: string, acquirerId: number | null, mayAct: boolean, administers: boolean, mustEnrol: boolean, environment: string }} session */
function begin({ username, role, acquirerId, mayAct, administers, mustEnrol, environment }) {
  // Another person gets a new page, without what the first one saw and typed.
  if (person !== undefined && person !== username) return location.reload();
  person = username;
  const sight = acquirerId === null ? 'all acquirers' : `acquirer ${acquirerId}`;
  byId('who').textContent = `${username}, ${role}, ${sight}`;
  document.body.classList.toggle('of-acquirer', acquirerId !== null);
  byId('cells-link').hidden = acquirerId !== null || !mayAct;
  const badge = byId('environment');
  badge.hidden = false;
  badge.textContent = environment;
  badge.dataset.state = environment === 'prod' ? 'bad' : 'warn';
  byId('settings-link').hidden = !administers;
  byId('settings').dataset.acquirer = acquirerId ?? '';
  byId('latency-of').textContent = acquirerId === null ? 'Latency' : 'Round trips to switches';
  document.body.classList.add('is-in');
  setMayAct(mayAct);
  openViews();
  document.body.classList.toggle('must-enrol', mustEnrol);
  if (mustEnrol) {
    history.replaceState(null, '', '/ops/account');
    showAddress();
    return;
  }
  openCharts();
  follow(askWho);
  void openNames();
  showAddress();
}

/** A stream may end because its gateway stopped; the user can still be logged in. */
async function askWho() {
  try {
    begin(await readSession());
  } catch (error) {
    if (error.status === 401) return askToLogIn(failure ?? '');
    setTimeout(askWho, ASKED_AGAIN_MS);
  }
}

/** @param {string} text */
function askToLogIn(text) {
  byId('login-said').textContent = text;
  byId('sure').close();
  rememberPage();
  if (!login.open) login.showModal();
  byId('username').focus();
}

login.addEventListener('cancel', (/** @type {Event} */ event) => event.preventDefault());
byId('login-form').onsubmit = async (/** @type {SubmitEvent & { target: any }} */ event) => {
  event.preventDefault();
  const { username, password, code } = event.target.elements;
  try {
    const session = await logIn(username.value, password.value, code.value);
    login.close();
    begin(session);
  } catch (error) {
    byId('login-said').textContent = error.message;
    password.focus();
  } finally {
    password.value = '';
    code.value = '';
  }
};

byId('leave').onclick = async () => {
  stop();
  const { providerUrl } = (await logOut().catch(() => {})) ?? {};
  if (providerUrl) location.assign(providerUrl);
  else location.reload();
};

const dark = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? 'dark' : 'light')) === 'dark';
byId('theme').onclick = () => {
  const theme = isDark() ? 'light' : 'dark';
  document.documentElement.dataset.theme = theme;
  localStorage.setItem('theme', theme);
  redrawCharts();
};
dark.addEventListener('change', redrawCharts);

/** A menu ends with a press elsewhere, and with the view that it leads to. */
const closeMenus = (/** @type {Event} */ { target }) => {
  const { isLink = false, menu } = {
    isLink: /** @type {Element} */ (target).closest?.('a[data-view]') !== null,
    menu: /** @type {Element} */ (target).closest?.('details.menu'),
  };
  for (const each of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll('details.menu')))
    if (each !== menu || isLink) each.open = false;
  if (isLink) openBar(false);
};
/** On a phone the head is one line until the person opens it. @param {boolean} isOpen */
function openBar(isOpen) {
  byId('bar').classList.toggle('is-open', isOpen);
  byId('bar-open').setAttribute('aria-expanded', String(isOpen));
}
byId('bar-open').onclick = () => openBar(!byId('bar').classList.contains('is-open'));
document.addEventListener('click', closeMenus);
document.addEventListener(
  'keydown',
  ({ key }) => key === 'Escape' && closeMenus(/** @type {any} */ ({ target: document.body })),
);

const kept = localStorage.getItem('theme');
if (kept) document.documentElement.dataset.theme = kept;
whenUnavailable(look);
whenAvailable(() => document.body.classList.contains('is-in') && showAddress());
whenOver(() => askToLogIn('Your session has expired. Log in to continue.'));
// Regions that scroll must be reachable by keyboard.
for (const region of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.scroll'))) region.tabIndex = 0;
openZones(byId('zone'));
addView({ path: /^\/ops\/?$/, element: byId('figures'), open() {} });
openTransactions();
openTransactionView();
openHistory();
openCells();
openWork();
openAccount();
openSettings();
openCodec();
openRouter();
openKeys();
const failure = takeFailure();
// Without a session the gateway does not ask its database, so the login would not state that it is unavailable.
look();
void openSignIn();
await askWho();
