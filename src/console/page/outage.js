import { readAvailability } from './ask.js';
import { setText } from './dom.js';
import { clockTime, zoneName } from './time.js';

/** What is unavailable, and since when: in red above the page, and in the login. It needs neither a session nor the database. */

const LOOKED_EVERY_MS = 2_000;

/** @type {ReturnType<typeof setInterval> | undefined} */
let looking;
/** @type {number | undefined} The time since which the gateway has not responded to this page. */
let silentFromAtMs;
let onReturn = () => {};

/** @param {() => void} listener */
export function whenAvailable(listener) {
  onReturn = listener;
}

/** Something did not work: shows the reason until it is over. */
export function look() {
  if (looking) return;
  looking = setInterval(lookOnce, LOOKED_EVERY_MS);
  void lookOnce();
}

const isOut = () => document.body.classList.contains('is-out');

async function lookOnce() {
  let text;
  try {
    const { database, downSinceMs, nowMs } = await readAvailability();
    silentFromAtMs = undefined;
    // The clock of this computer may differ from that of the gateway.
    if (database === 'down') text = databaseText(Date.now() - (nowMs - downSinceMs));
  } catch {
    silentFromAtMs ??= Date.now();
    text = `The gateway has not responded ${since(silentFromAtMs)}. Nothing can be said about transactions, switches and queues.`;
  }
  const wasOut = isOut();
  document.body.classList.toggle('is-out', text !== undefined);
  for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.outage'))) {
    element.hidden = text === undefined;
    setText(element, text ?? '');
  }
  if (text !== undefined) return;
  if (wasOut) onReturn();
  // Before the login, the page makes no other request that would show an outage.
  if (!document.body.classList.contains('is-in')) return;
  clearInterval(looking);
  looking = undefined;
}

/** @param {number} sinceMs */
function databaseText(sinceMs) {
  return `The database has been unavailable ${since(sinceMs)}. Taps are refused, and login, transactions, figures and acts are unavailable until it returns.`;
}

/** @param {number} atMs */
function since(atMs) {
  return `since ${clockTime(atMs)} ${zoneName()}`;
}
