// The virtual phone next to a pay page in `dev`: what a customer sees on the phone, from the choice of a card to the
// receipt.

import { ProblemError } from './client.ts';
import { factOf } from './facts.js';
import { isSilence } from './gateway.js';
import { link } from './link.js';
import { look, watchPayment } from './pay-page.js';
import { TapSession } from './tap-session.js';

/**
 * The response of 4.4 or 4.5.
 *
 * @typedef {import('../../../schemas/mobile-transaction.ts').OnlineAuthorization} Outcome
 */
/** @typedef {() => Promise<Outcome>} Step */

/**
 * @param {string} id
 * @returns {any} an element of any kind that has this id
 */
const element = (id) => document.getElementById(id);
const SCREENS = ['cards', 'busy', 'pin-form', 'result'];

const UNSAFE_CONTEXT = 'Open this page over HTTPS or on localhost. Elsewhere, the browser cannot encrypt card data.';

let isOpen = false;
/** Action of the button on the result screen. */
let again = () => show('cards');
/** The button works in any state of the payment. */
let isRepeat = false;

/** The phone is shown only with a link. */
const session = /** @type {TapSession} */ (link && new TapSession(link.reference, tell));

/**
 * Shows one screen and hides the others.
 *
 * @param {string} screen
 * @param {string} [description]
 */
function show(screen, description = '') {
  for (const id of SCREENS) element(id).hidden = id !== screen;
  element('screen').dataset.screen = screen;
  element('phone-says').textContent = description;
}

/**
 * Runs a step while the phone shows that it is busy, then shows the result.
 *
 * @param {Step} step
 */
async function run(step) {
  show('busy', 'Paying …');
  isRepeat = false;
  again = () => show('cards');
  try {
    showOutcome(await step());
  } catch (error) {
    if (error instanceof ProblemError) showResult('failed', 'Not accepted', error.problem.detail);
    else if (isSilence(error)) offerRepeat(step);
    else showResult('failed', 'Page error', error.message);
  }
  look();
}

/** @param {Step} step */
function offerRepeat(step) {
  isRepeat = true;
  again = () => run(session.isSubmitted ? () => session.repeat() : step);
  showResult('unsure', 'No response', 'Try again. You cannot pay twice.');
}

/** @param {Outcome} response */
function showOutcome(response) {
  if (response.isSingleTapAndPin) return showPinPad(response);
  const { type, errorMessage = '' } = response;
  const [tone, words] = OUTCOMES[type] ?? OUTCOMES.Declined;
  showResult(tone, words, type === 'Approved' ? '' : errorMessage);
  element('receipt').replaceChildren(
    ...receiptOf(response).flatMap(([name, value]) => (value ? [factOf(name, value)] : [])),
  );
}

/** @type {Record<string, [tone: string, words: string]>} */
const OUTCOMES = {
  Approved: ['good', 'Approved'],
  Declined: ['failed', 'Declined'],
  DeclinedOffline: ['failed', 'Declined by the card'],
  UnableToGoOnline: ['failed', 'Bank unavailable'],
  Indeterminate: ['unsure', 'No response from the bank'],
  Voided: ['failed', 'Cancelled'],
};

/** errorCode of a wrong PIN while tries remain. */
const WRONG_PIN = 211;

/** @param {Outcome} response */
function showPinPad({ errorCode }) {
  const isWrong = errorCode === WRONG_PIN;
  show('pin-form', isWrong ? 'Wrong PIN. Try again.' : 'The bank requires your PIN.');
  element('pin').value = '';
  element('pin').ariaInvalid = String(isWrong);
  element('pin').focus();
}

/**
 * @param {string} tone
 * @param {string} words
 * @param {string} reason
 */
function showResult(tone, words, reason) {
  show('result');
  element('result').dataset.tone = tone;
  element('outcome').textContent = words;
  element('reason').textContent = reason;
  element('receipt').replaceChildren();
  showAgain();
  element('outcome').focus();
}

function showAgain() {
  element('again').hidden = !(isOpen || isRepeat);
}

/**
 * @param {Outcome} response
 * @returns {[name: string, value: string | undefined][]}
 */
function receiptOf(response) {
  const { cardScheme, maskedPAN, authorizationCode, isoResponseCode, merchantReference, paymentProviderReference } =
    response;
  return [
    ['Card', `${cardScheme} •••• ${maskedPAN.slice(-4)}`],
    ['Approval code', authorizationCode],
    ['Response', isoResponseCode],
    ['Retrieval reference', paymentProviderReference],
    ['Reference', merchantReference],
    ['Time', new Date().toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })],
  ];
}

/**
 * @param {string} call
 * @param {string} outcome
 */
function tell(call, outcome) {
  const row = document.createElement('li');
  const code = document.createElement('code');
  code.textContent = call;
  row.append(code, ` ${outcome}`);
  element('calls').append(row);
  element('no-calls').hidden = true;
}

/**
 * Follows the phases of the page: a finished payment takes no card, and a payment that opens again takes another one.
 *
 * @param {import('./phases.js').Phase} phase
 */
function follow(phase) {
  if (!phase.title) element('phone').hidden = false;
  isOpen = phase.isOpen === true;
  element('tap').disabled = !isOpen || !isSecureContext;
  showAgain();
  if (!element('cards').hidden) element('phone-says').textContent = isSecureContext ? '' : UNSAFE_CONTEXT;
}

element('tap').disabled = true;
element('cards').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  run(() => session.tap(String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get('card'))));
});
element('pin-form').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  const pin = element('pin').value;
  element('pin').value = '';
  run(() => session.enterPin(pin));
});
element('again').addEventListener('click', () => again());
watchPayment(follow);
