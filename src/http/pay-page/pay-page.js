// The pay page: asks for the state of the link, shows it, and polls until the link is paid or can no longer be paid.

import { ProblemError } from './client.ts';
import { factOf } from './facts.js';
import { gateway, isSilence } from './gateway.js';
import { link, rememberThatAppWasTried } from './link.js';
import { appAddress } from './open-app.js';
import { BROKEN, OFFLINE, phaseOf, phaseOfRefusal } from './phases.js';

const LOOK_EVERY_MS = 2_000;
/** The countdown changes its colour in the last minute. */
const HURRY_SECONDS = 60;

/** A longer amount is set in smaller type. */
const ROOMY_CHARS = 10;

const element = (id) => document.getElementById(id);
const main = document.querySelector('main');

let timer;
let isLast = false;
/** On the monotonic clock. */
let endsAtMs = Number.POSITIVE_INFINITY;
let hasAmount = false;
let isLooking = false;
/** The phase shown last. */
let shown;
const watchers = [];

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
  try {
    showPayment(await gateway.getPayPageState({ params: { reference: link.reference } }));
  } catch (error) {
    if (error instanceof ProblemError) showPhase(phaseOfRefusal(error.status) ?? OFFLINE);
    else if (isSilence(error)) showPhase(OFFLINE);
    else throw error;
  } finally {
    isLooking = false;
  }
  if (!isLast && !document.hidden) timer = setTimeout(look, LOOK_EVERY_MS);
}

function showPayment(state) {
  const phase = phaseOf(state);
  if (phase.title === undefined) showBill(state);
  endsAtMs = performance.now() + state.secondsLeft * 1_000;
  showPhase(phase);
}

function showPhase(phase) {
  isLast = phase.isLast === true;
  main.dataset.phase = phase.name;
  if (phase.title !== undefined) showTitle(phase.title);
  say(element('headline'), phase.headline);
  say(element('explanation'), phase.explanation);
  if (phase === OFFLINE) return;
  shown = phase;
  for (const watcher of watchers) watcher(phase);
  element('ways').hidden = !phase.isOpen;
  if (phase.isOpen) showWays();
  showClock(phase.isOpen === true);
}

/** Writes only changed text, because a screen reader announces each write to a status region. */
function say(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

function showTitle(text) {
  say(element('words'), text);
  element('words').hidden = false;
  for (const id of ['amount', 'merchant', 'facts', 'per-month']) element(id).hidden = true;
  document.title = text;
}

function showBill({ merchantName, currency, amount, paymentReference, type, mandate }) {
  const wanted = type === 'TT3' ? (mandate.instalmentAmount ?? mandate.maxCollectionAmount) : amount;
  const figure = grouped(wanted);
  element('words').hidden = true;
  const [currencyElement, figureElement] = element('amount').children;
  say(currencyElement, currency);
  say(figureElement, figure);
  element('amount').classList.toggle('long', figure.length > ROOMY_CHARS);
  element('amount').hidden = false;
  say(element('merchant'), merchantName);
  element('merchant').hidden = false;
  document.title = `${currency} ${figure} to ${merchantName}`;
  if (hasAmount) return;
  hasAmount = true;
  if (type === 'TT3') showTerms(mandate, currency);
  addFact('Reference', paymentReference);
  element('facts').hidden = false;
}

function showTerms(
  { creditorABSN, collectionDay, contractReference, instalmentAmount, maxCollectionAmount },
  currency,
) {
  element('per-month').hidden = false;
  say(element('per-month'), instalmentAmount === undefined ? 'a month at most' : 'a month');
  addFact('Debit order for', creditorABSN);
  addFact('Collected on', `day ${collectionDay} of the month`);
  if (instalmentAmount !== undefined && maxCollectionAmount !== undefined) {
    addFact('At most', `${currency} ${grouped(maxCollectionAmount)}`);
  }
  addFact('Contract', contractReference);
  addFact('Due today', 'nothing');
}

function addFact(name, value) {
  element('facts').append(factOf(name, value));
}

/** Decimal text with grouped thousands; the decimals stay as the currency defines them. */
function grouped(amount) {
  const [whole, decimals] = amount.split('.');
  const apart = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return decimals === undefined ? apart : `${apart}.${decimals}`;
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
  if (link.isWithoutApp || isPhone)
    element('scan-words').textContent = 'No payment app on this phone? Scan with another phone.';
  try {
    const { qrCode } = await gateway.getPayPageQrCode({ params: { reference: link.reference } });
    image.src = qrCode;
    image.hidden = false;
  } catch {
    element('scan').hidden = true; // the next poll tries again
  }
}

function showClock(isOpen) {
  element('clock').hidden = !isOpen;
  tick();
}

function tick() {
  if (element('clock').hidden) return;
  const seconds = Math.max(0, Math.round((endsAtMs - performance.now()) / 1_000));
  const clock = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const parts = clock[0] > 0 ? clock : clock.slice(1);
  say(element('left'), parts.map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, '0'))).join(':'));
  element('clock').classList.toggle('hurry', seconds < HURRY_SECONDS);
  if (seconds === 0) look();
}

if (link) {
  setInterval(tick, 1_000);
  document.addEventListener('visibilitychange', () => document.hidden || isLast || look());
  look();
} else {
  showPhase(BROKEN);
}
