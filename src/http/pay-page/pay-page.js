// The pay page: asks for the state of the link, shows it, and polls until the link is paid or can no longer be paid.

import { clockText, localAmount } from './amounts.js';
import { ProblemError } from './client.ts';
import { factOf } from './facts.js';
import { gateway, isSilence } from './gateway.js';
import { link as linkOfPage, rememberThatAppWasTried } from './link.js';
import { appAddress } from './open-app.js';
import { BROKEN, phaseOf, phaseOfRefusal, phaseOfWait, phaseWithoutNews } from './phases.js';
import { filled, texts } from './texts.js';

/** @typedef {import('../../../schemas/pay-page.ts').PayPageState} State */

const LOOK_EVERY_MS = 2_000;
/** A response that takes longer makes the page say that its state may be old. */
const SLOW_AFTER_MS = 4_000;
/** The countdown changes its colour in the last minute. */
const HURRY_SECONDS = 60;

/** A longer amount is set in smaller type. */
const ROOMY_CHARS = 10;

/**
 * @param {string} id
 * @returns {any} an element of any kind that has this id
 */
const element = (id) => document.getElementById(id);
/** The page polls and draws only with a link. */
const link = /** @type {import('./link.js').Link} */ (linkOfPage);
const main = /** @type {HTMLElement} */ (document.querySelector('main'));

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let isLast = false;
/** Until then a tap may begin, on the monotonic clock. */
let endsAtMs = Number.POSITIVE_INFINITY;
/** When the bank was asked, on the monotonic clock. */
let askedAtMs = 0;
let hasAmount = false;
let isLooking = false;
/** @type {import('./phases.js').Phase | undefined} The phase of the link shown last. */
let shown;
/** @type {((phase: import('./phases.js').Phase) => void)[]} */
const watchers = [];
const { words } = texts;

/**
 * Calls a part of the page for each phase that is shown, starting with the current one.
 *
 * @param {(phase: import('./phases.js').Phase) => void} watcher
 */
export function watchPayment(watcher) {
  watchers.push(watcher);
  if (shown) watcher(shown);
}

/** Polls once, shows the result, and schedules the next poll. */
export async function look() {
  if (isLooking) return;
  isLooking = true;
  clearTimeout(timer);
  const slow = setTimeout(() => showSilence(true), SLOW_AFTER_MS);
  try {
    showPayment(await gateway.getPayPageState({ params: { reference: link.reference } }));
  } catch (error) {
    const refusal = error instanceof ProblemError ? phaseOfRefusal(error.status) : undefined;
    if (refusal) showPhase(refusal);
    else if (error instanceof ProblemError || isSilence(error)) showSilence(false);
    else throw error;
  } finally {
    clearTimeout(slow);
    isLooking = false;
  }
  if (!isLast && !document.hidden) timer = setTimeout(look, LOOK_EVERY_MS);
}

/** @param {State} state */
function showPayment(state) {
  const phase = phaseOf(state);
  if (phase.title === undefined) showBill(state);
  endsAtMs = performance.now() + state.secondsLeft * 1_000;
  askedAtMs = performance.now() - state.waitedSeconds * 1_000;
  showPhase(phase);
}

/**
 * The last known state stays, with what the page knows about the connection.
 *
 * @param {boolean} isSlow
 */
function showSilence(isSlow) {
  showWords(phaseWithoutNews(shown, isSlow));
}

/** @param {import('./phases.js').Phase} phase */
function showWords({ name, headline, explanation }) {
  main.dataset.phase = name;
  say(element('headline'), headline);
  say(element('explanation'), explanation);
}

/** @param {import('./phases.js').Phase} phase */
function showPhase(phase) {
  isLast = phase.isLast === true;
  if (phase.title !== undefined) showTitle(phase.title);
  showWords(phase);
  shown = phase;
  for (const watcher of watchers) watcher(phase);
  element('ways').hidden = !phase.isOpen;
  if (phase.isOpen) showWays();
  showClock(phase);
}

/**
 * Writes only changed text, because a screen reader announces each write to a status region.
 *
 * @param {Element} target
 * @param {string} text
 */
function say(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** @param {string} text */
function showTitle(text) {
  say(element('words'), text);
  element('words').hidden = false;
  for (const id of ['amount', 'merchant', 'facts', 'per-month']) element(id).hidden = true;
  document.title = text;
}

/** @param {State} state */
function showBill({ merchantName, currency, amount, paymentReference, type, mandate }) {
  const wanted = (type === 'TT3' && (mandate?.instalmentAmount ?? mandate?.maxCollectionAmount)) || amount;
  const figure = localAmount(wanted);
  element('words').hidden = true;
  const [currencyElement, figureElement] = element('amount').children;
  say(currencyElement, currency);
  say(figureElement, figure);
  element('amount').classList.toggle('long', figure.length > ROOMY_CHARS);
  element('amount').hidden = false;
  say(element('merchant'), merchantName);
  element('merchant').hidden = false;
  document.title = filled(words.payTo, { amount: `${currency} ${figure}`, merchant: merchantName });
  if (hasAmount) return;
  hasAmount = true;
  if (type === 'TT3' && mandate) showTerms(mandate, currency);
  addFact(words.reference, paymentReference);
  element('facts').hidden = false;
}

/**
 * @param {NonNullable<State['mandate']>} terms
 * @param {string} currency
 */
function showTerms(
  { creditorABSN, collectionDay, contractReference, instalmentAmount, maxCollectionAmount },
  currency,
) {
  element('per-month').hidden = false;
  say(element('per-month'), instalmentAmount === undefined ? words.aMonthAtMost : words.aMonth);
  addFact(words.debitOrderFor, creditorABSN);
  addFact(words.collectedOn, filled(words.dayOfMonth, { day: collectionDay }));
  if (instalmentAmount !== undefined && maxCollectionAmount !== undefined) {
    addFact(words.atMost, `${currency} ${localAmount(maxCollectionAmount)}`);
  }
  addFact(words.contract, contractReference);
  addFact(words.dueToday, words.nothing);
}

/**
 * @param {string} name
 * @param {string} value
 */
function addFact(name, value) {
  element('facts').append(factOf(name, value));
}

/** Offers the app on a phone that may have it, and the QR code everywhere else or if the phone has no app. */
function showWays() {
  const address = link.isWithoutApp ? undefined : appAddress(link);
  if (address === undefined) return showQrCode();
  element('open-app').href = address;
  element('open-app').hidden = false;
  if (link.isAppTried) return;
  link.isAppTried = true;
  rememberThatAppWasTried();
  location.assign(address);
}

async function showQrCode() {
  const image = element('qr-code');
  if (!element('scan').hidden) return;
  element('scan').hidden = false;
  const isPhone = matchMedia('(hover: none) and (pointer: coarse)').matches;
  if (link.isWithoutApp || isPhone) element('scan-words').textContent = words.scanOther;
  try {
    const { qrCode } = await gateway.getPayPageQrCode({ params: { reference: link.reference } });
    image.src = qrCode;
    image.hidden = false;
  } catch {
    element('scan').hidden = true; // the next poll tries again
  }
}

/** @param {import('./phases.js').Phase} phase */
function showClock({ isOpen, isWaiting }) {
  element('clock').hidden = !(isOpen || isWaiting);
  say(element('clock-words'), isWaiting ? words.waitedFor : words.expiresIn);
  tick();
}

function tick() {
  if (element('clock').hidden) return;
  if (shown?.isWaiting) return tickWait(shown);
  const seconds = Math.max(0, Math.round((endsAtMs - performance.now()) / 1_000));
  say(element('left'), clockText(seconds));
  element('clock').classList.toggle('hurry', seconds < HURRY_SECONDS);
  if (seconds === 0) look();
}

/**
 * The words follow the time, also if the gateway is silent.
 *
 * @param {import('./phases.js').Phase} last
 */
function tickWait(last) {
  const seconds = Math.max(0, Math.floor((performance.now() - askedAtMs) / 1_000));
  say(element('left'), clockText(seconds));
  element('clock').classList.remove('hurry');
  const phase = phaseOfWait(seconds);
  if (main.dataset.phase === last.name && phase !== last) {
    shown = phase;
    showWords(phase);
  }
}

if (link) {
  setInterval(tick, 1_000);
  document.addEventListener('visibilitychange', () => document.hidden || isLast || look());
  look();
} else {
  showPhase(BROKEN);
}
