import { askFirst, isAllowedToAct } from './acts.js';
import { refundSale } from './ask.js';
import { h, setText } from './dom.js';
import { words } from './list-row.js';

/** The form that refunds a sale, in part or in full. */

const MAX_REASON_CHARS = 500;
const FORM_ID_BYTES = 16;
/** As people write it: `10.00`, or `ZAR 10.00`. */
const AMOUNT = /^(?:([a-z]{3})\s*)?(\d{1,12}(?:\.\d{1,4})?)$/i;

/**
 * The form keeps its id until it has an outcome: what is sent again after a lost response is the same refund.
 *
 * @returns `{ element, update(story) }`; nothing is shown while nothing can be refunded
 */
export function refundForm(again) {
  let formId = newFormId();
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
  const fold = h('details', {}, h('summary', {}, 'Refund this sale'), form);
  form.onsubmit = (event) => {
    event.preventDefault();
    const wanted = readForm(amount.value, reason.value, summary.refundable);
    setText(said, wanted.fault ?? '');
    if (wanted.fault) return;
    const { acquirerId, id } = summary;
    const sentId = formId; // also for a confirmation that follows the outcome of an earlier one
    askFirst({
      title: `Refund ${summary.refundable.currency} ${wanted.amount}?`,
      text: 'The switch returns this amount to the card. It cannot be undone.',
      yes: 'Refund it',
      send: async () => {
        const { disposition } = await refundSale({ acquirerId, id, formId: sentId, ...wanted });
        if (formId === sentId) formId = newFormId();
        form.reset();
        setText(done, `Refund of ${summary.refundable?.currency ?? ''} ${wanted.amount}: ${words(disposition)}.`);
      },
      onDone: again,
    });
  };
  const update = (story) => {
    summary = story.summary;
    const { refundable } = summary;
    fold.hidden = refundable === null || !isAllowedToAct();
    if (refundable) setText(left, `Amount, at most ${refundable.currency} ${refundable.amount}`);
  };
  return { element: h('div', { class: 'refund' }, fold, done), update };
}

function readForm(amountText, reasonText, { currency }) {
  const reason = reasonText.replace(/\s+/g, ' ').trim();
  const [, named, amount] = AMOUNT.exec(amountText.trim()) ?? [];
  if (!amount) return { fault: 'Write the amount like 10.00.' };
  if (named && named.toUpperCase() !== currency) return { fault: `The currency of the sale is ${currency}.` };
  if (reason === '') return { fault: 'Write the reason.' };
  return { amount, reason };
}

/** `crypto.randomUUID` exists only over HTTPS. */
function newFormId() {
  const bytes = crypto.getRandomValues(new Uint8Array(FORM_ID_BYTES));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
