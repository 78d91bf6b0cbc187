import { askFirst, isAllowedToAct } from './acts.js';
import { refundSale } from './ask.js';
import { h, setText } from './dom.js';
import { forgetSent, keepSent, newFormId, sentForm } from './form-id.js';
import { words } from './list-row.js';

/** @typedef {import('./ask.js').Json<import('../transaction-story.ts').TransactionStory>} Story */

/** The form that refunds a sale, in part or in full. */

const MAX_REASON_CHARS = 500;
/** An amount as people write it: `10.00`, or `ZAR 10.00`. */
const AMOUNT = /^(?:([a-z]{3})\s*)?(\d{1,12}(?:\.\d{1,4})?)$/i;

/**
 * The form keeps its id until it has an outcome, also when the page is reloaded: what is sent again after a lost response
 * is the same refund, and the outcome of the first is shown as soon as the sale has it.
 *
 * @param {string} id of the sale
 * @returns `{ element, update(story) }`; nothing is shown while nothing can be refunded
 * @param {() => unknown} again
 * @param {(summary: Story['summary']) => [name: string, value: unknown][]} factsOf what the confirmation repeats of the sale
 */
export function refundForm(id, again, factsOf) {
  const name = `refund ${id}`;
  let formId = sentForm(name) ?? newFormId();
  /** @type {Story['summary']} */
  let summary;
  const left = h('span');
  const amount = h('input', {
    name: 'amount',
    inputmode: 'decimal',
    required: true,
    maxlength: 20,
    autocomplete: 'off',
  });
  const reason = h('textarea', { name: 'reason', required: true, maxlength: MAX_REASON_CHARS, rows: 2 });
  const said = h('p', { role: 'alert' });
  const done = h('p', { role: 'status' });
  const form = h(
    'form',
    { class: 'resolve', novalidate: true },
    h('label', {}, left, amount),
    h('label', {}, 'Reason for the refund, without card data', reason),
    said,
    h('button', { type: 'submit' }, 'Refund'),
  );
  const renew = (/** @type {string} */ sentId) => {
    if (formId !== sentId) return;
    formId = newFormId();
    forgetSent(name);
  };
  const showEarlier = (/** @type {Story['related']} */ related) => {
    const sentId = sentForm(name);
    const earlier = sentId && related.find(({ reference }) => reference === `console-${sentId}`);
    if (!earlier || form.contains(document.activeElement)) return;
    const outcome = earlier.disposition === null ? 'has no outcome yet' : words(earlier.disposition);
    setText(done, `The refund of ${earlier.amount} that was sent before: ${outcome}.`);
    if (earlier.disposition !== null) renew(sentId);
  };
  const fold = h('details', {}, h('summary', {}, 'Refund this sale'), form);
  form.onsubmit = (event) => {
    event.preventDefault();
    const { refundable } = summary;
    if (!refundable) return;
    const wanted = readForm(amount.value, reason.value, refundable);
    setText(said, wanted.fault ?? '');
    if (wanted.fault) return;
    const { acquirerId } = summary;
    const sentId = formId; // also for a confirmation that follows the outcome of an earlier one
    askFirst({
      title: `Refund ${refundable.currency} ${wanted.amount}?`,
      text: 'The switch returns this amount to the card. It cannot be undone.',
      facts: [
        ...factsOf(summary),
        ['Reason', wanted.reason],
        ['Left to refund', `${refundable.currency} ${leftAfter(refundable.amount, wanted.amount ?? '')}`],
      ],
      yes: 'Refund it',
      send: async () => {
        keepSent(name, sentId);
        const { disposition } = await refundSale({ acquirerId, id, formId: sentId, ...wanted });
        renew(sentId);
        form.reset();
        setText(done, `Refund of ${summary.refundable?.currency ?? ''} ${wanted.amount}: ${words(disposition)}.`);
      },
      onDone: again,
    });
  };
  const update = (/** @type {Story} */ story) => {
    summary = story.summary;
    const { refundable } = summary;
    fold.hidden = refundable === null || !isAllowedToAct();
    showEarlier(story.related);
    if (refundable) setText(left, `Amount, at most ${refundable.currency} ${refundable.amount}`);
  };
  return { element: h('div', { class: 'refund' }, fold, done), update };
}

/**
 * What a refund leaves, in the decimals of the currency; the gateway computes it again.
 *
 * @param {string} available
 * @param {string} amount
 */
function leftAfter(available, amount) {
  const decimals = available.split('.')[1]?.length ?? 0;
  return Math.max(0, Number(available) - Number(amount)).toFixed(decimals);
}

/**
 * @param {string} amountText
 * @param {string} reasonText
 * @param {{ currency: string }} refundable
 */
function readForm(amountText, reasonText, { currency }) {
  const reason = reasonText.replace(/\s+/g, ' ').trim();
  const [, named, amount] = AMOUNT.exec(amountText.trim()) ?? [];
  if (!amount) return { fault: 'Write the amount like 10.00.' };
  if (named && named.toUpperCase() !== currency) return { fault: `The currency of the sale is ${currency}.` };
  if (reason === '') return { fault: 'Write the reason.' };
  return { amount, reason };
}
