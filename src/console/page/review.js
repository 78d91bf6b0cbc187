import { actButton, isAllowedToAct } from './acts.js';
import { act } from './ask.js';
import { h } from './dom.js';
import { time } from './time.js';

/** @typedef {import('./ask.js').Json<import('../transaction-story.ts').TransactionStory>} Story */
/** @typedef {Story['summary']} Summary */
/** @typedef {Story['resolutions'][number]} Resolution */

/** What people state about a transaction that needs review, and what they stated before. */

const FINDINGS = [
  ['voided', 'Voided', 'No amount stands at the switch: it was reversed, or never booked.'],
  ['approved', 'Approved', 'The amount stands at the switch.'],
  [
    'adjusted',
    'Adjusted',
    'The books differed, and the acquirer has corrected them to agree with the outcome shown here. An uncertain transaction and a sale with an open void become Voided.',
  ],
];
const MAX_REASON_CHARS = 500;

/** @param {Story} story */
function isInReview({ summary, related }) {
  return summary.needsReview || related.some(({ type, needsReview }) => type === 'Void' && needsReview);
}

/** @type {{ reason: string, key?: string, updatedAt?: string, books?: string, isOutdated?: boolean }} What the person typed about a transaction, for a form that is drawn again. */
let draft = { reason: '' };

/** @param {Summary} summary */
function draftOf({ acquirerId, id, updatedAt }) {
  const key = `${acquirerId} ${id}`;
  if (draft.key !== key) draft = { key, updatedAt, reason: '' };
  draft.isOutdated = draft.updatedAt !== updatedAt && (draft.books !== undefined || draft.reason !== '');
  // The person looks again before stating anything about a transaction that has changed.
  if (draft.updatedAt !== updatedAt) draft.books = undefined;
  draft.updatedAt = updatedAt;
  return draft;
}

/**
 * Undefined if the transaction does not need review and never was resolved.
 *
 * @param {Story} story
 * @param {() => unknown} again
 */
export function reviewOf(story, again) {
  const { resolutions } = story;
  if (!isInReview(story) && resolutions.length === 0) return undefined;
  return h(
    'div',
    { class: 'review' },
    isInReview(story) && workOf(story, again),
    resolutions.length > 0 && h('ul', { class: 'resolutions' }, resolutions.map(resolutionOf)),
  );
}

/**
 * @param {Story} story
 * @param {() => unknown} again
 */
function workOf(story, again) {
  const { summary, resolutions } = story;
  if (summary.type === 'Void')
    return h(
      'p',
      {},
      'A void is resolved with its sale. ',
      h('a', { 'data-view': true, href: `/ops/transactions/${summary.originalId}` }, 'Open the sale'),
    );
  const proposal = resolutions.find(({ state }) => state === 'proposed');
  if (proposal) return decisionOn(proposal, summary, again);
  return isAllowedToAct() && formOf(story, again);
}

/**
 * @param {Resolution} resolution
 * @param {Summary} summary
 * @param {() => unknown} again
 */
function decisionOn({ id, books, proposedBy, reason }, { acquirerId }, again) {
  return h(
    'p',
    {},
    `${proposedBy} proposes: ${nameOf(books)}. A second person must confirm it. `,
    actButton({
      label: 'Confirm',
      name: 'Confirm the resolution',
      title: `Confirm "${nameOf(books)}"?`,
      text: `Compare it with the switch's books yourself. Reason given: ${reason}`,
      yes: 'Confirm the resolution',
      body: { act: 'confirmResolution', acquirerId, id },
      onDone: again,
    }),
    ' ',
    actButton({
      label: 'Reject',
      name: 'Reject the resolution',
      title: 'Reject this resolution?',
      text: 'The transaction continues to need review.',
      yes: 'Reject the resolution',
      body: { act: 'rejectResolution', acquirerId, id },
      onDone: again,
    }),
  );
}

/**
 * @param {Story} story
 * @param {() => unknown} again
 */
function formOf(story, again) {
  const kept = draftOf(story.summary);
  const said = h(
    'p',
    { role: 'alert' },
    kept.isOutdated && 'The transaction has changed meanwhile. Look at it, and choose again.',
  );
  const button = h('button', { type: 'submit' }, 'Resolve');
  const form = h(
    'form',
    { class: 'resolve' },
    h(
      'fieldset',
      {},
      h('legend', {}, "What do the switch's books say?"),
      FINDINGS.map(([value, name, text]) =>
        h(
          'label',
          {},
          h('input', { type: 'radio', name: 'books', value, required: true, checked: kept.books === value }),
          h('b', {}, name),
          ` ${text}`,
        ),
      ),
    ),
    h(
      'label',
      {},
      'Reason, without card data',
      h('textarea', { name: 'reason', required: true, maxlength: MAX_REASON_CHARS, rows: 2 }, kept.reason),
    ),
    said,
    button,
  );
  /** @returns {any} the fields of the form by name */
  const fields = () => form.elements;
  form.oninput = () => {
    kept.books = fields().books.value || undefined;
    kept.reason = fields().reason.value;
  };
  form.onsubmit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    said.textContent = '';
    const { acquirerId, id, updatedAt: seenAt } = story.summary;
    const given = new FormData(form);
    const reason = String(given.get('reason')).replace(/\s+/g, ' ').trim();
    try {
      await act({ act: 'resolveReview', acquirerId, id, books: given.get('books'), reason, seenAt });
      draft = { reason: '' };
      again();
    } catch (error) {
      said.textContent = error.message;
      button.disabled = false;
    }
  };
  return form;
}

/** @param {Resolution} resolution */
function resolutionOf({ books, state, reason, proposedBy, proposedAt, decidedBy, decidedAt }) {
  const by = { done: 'confirmed by', rejected: 'rejected by', proposed: '' }[state];
  return h(
    'li',
    {},
    h('b', {}, nameOf(books)),
    state === 'proposed' && ' (proposed)',
    state === 'rejected' && ' (rejected)',
    ` ${time(proposedAt)} by ${proposedBy}`,
    decidedBy && `, ${by} ${decidedBy} ${decidedAt && time(decidedAt)}`,
    h('span', { class: 'reason' }, reason),
  );
}

/** @param {string} books */
function nameOf(books) {
  return FINDINGS.find(([value]) => value === books)?.[1] ?? books;
}
