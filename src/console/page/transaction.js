import { actButton, isAllowedToAct, oneLine } from './acts.js';
import { followTransaction, operate, readTransaction } from './ask.js';
import { copyButton } from './copy.js';
import { byId, h, setText, table } from './dom.js';
import { newFormId } from './form-id.js';
import { typeName, words } from './list-row.js';
import { messageTable, tlvTable } from './message.js';
import { acquirerName, merchantName, processorName, whenNamesChange } from './names.js';
import { refundForm } from './refund.js';
import { reviewOf } from './review.js';
import { addView } from './router.js';
import { time, whenZoneChanges } from './time.js';

/** @typedef {import('./ask.js').Json<import('../transaction-story.ts').TransactionStory>} Story */
/** @typedef {Story['summary']} Summary */
/** @typedef {() => unknown} Again reads the transaction again */
/** @typedef {Story['webhooks'][number]} WebhookEvent */
/** @typedef {{ at: string, attempt: number } & Partial<Record<'to' | 'reversal' | 'late' | 'responseCode' | 'void' | 'resolution' | 'pin', string>>} TrailEntry */

/** `/ops/transactions/:id`: all stored data about a transaction, which updates itself. */

const FOLLOWED_EVERY_MS = 2_500;
/** A transaction that has rested for long changes only with a void, a refund or an act. */
const RESTED_MS = 5 * 60_000;
const FOLLOWED_RARELY_MS = 15_000;
const MAX_NOTE_CHARS = 1_000;

const view = byId('one');
/** @type {string | undefined} */
let shownId;
/** @type {Story | undefined} */
let story;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let following;
/** @type {ReturnType<typeof refundForm>} The form of the shown transaction: it outlives each redrawing, with what the person typed. */
let refund;
/** @type {HTMLElement} As the form of the refund. */
let noteForm;
/** Where the last act on the shown transaction has its result. */
let actResult = h('p', { role: 'status' });

export function openTransactionView() {
  addView({ path: /^\/ops\/transactions\/([0-9a-f-]{36})\/?$/i, element: view, open, close });
  whenZoneChanges(() => story && show(story, true));
  whenNamesChange(() => story && show(story, true));
}

/** @param {string[]} match */
function open([, id]) {
  // The gateway is available again: the form keeps what the person typed.
  if (id === shownId) return void read(readTransaction);
  close();
  shownId = id;
  story = undefined;
  refund = refundForm(shownId, () => read(readTransaction), factsOfAct);
  noteForm = noteFormOf(shownId);
  actResult = h('p', { role: 'status' });
  setText(byId('one-title'), 'Transaction');
  byId('one-body').replaceChildren(h('p', { class: 'none' }, 'Reading the transaction.'));
  void read(readTransaction);
}

function close() {
  clearTimeout(following);
  shownId = undefined;
}

/** @param {(id: string) => Promise<Story>} how */
async function read(how) {
  const id = shownId ?? '';
  try {
    const present = await how(id);
    if (id !== shownId) return;
    show(present);
  } catch (error) {
    if (id !== shownId) return;
    if (story === undefined || error.status === 404) fail(error);
  }
  clearTimeout(following);
  following = setTimeout(follow, isAtRest() ? FOLLOWED_RARELY_MS : FOLLOWED_EVERY_MS);
}

function isAtRest() {
  return story !== undefined && Date.now() - Date.parse(story.summary.updatedAt) > RESTED_MS;
}

function follow() {
  if (document.hidden || !document.body.classList.contains('is-in')) following = setTimeout(follow, FOLLOWED_EVERY_MS);
  else void read(followTransaction);
}

/** @param {{ status?: number, message: string }} error */
function fail({ status, message }) {
  story = undefined;
  setText(byId('one-title'), status === 404 ? 'Not found' : 'Not shown');
  const text = status === 404 ? `There is no transaction ${shownId} that you may see.` : message;
  byId('one-body').replaceChildren(h('p', { role: 'alert' }, text));
}

/**
 * Only parts that have changed are drawn again, so that a selection, the focus and the scroll position stay.
 *
 * @param {Story} present
 * @param {boolean} [isRedrawn]
 */
function show(present, isRedrawn = false) {
  const again = () => read(readTransaction);
  const { summary, trail, messages, tlv, webhooks, related, resolutions, notes } = present;
  setText(byId('one-title'), titleOf(summary));
  /** @type {[name: string, data: unknown, draw: () => any][]} */
  const parts = [
    ['acts', [isVoidable(summary), summary.reversal, summary.amount], () => actsOf(summary, again)],
    ['review', [summary.updatedAt, related, resolutions], () => reviewOf(present, again) ?? h('div')],
    ['summary', [summary, related], () => summaryOf(summary, related)],
    ['trail', [trail, notes], () => part('Timeline', trailOf(trail, notes), true)],
    ['note', isAllowedToAct(), () => (isAllowedToAct() ? noteForm : h('div'))],
    ['messages', messages, () => part(`Messages (${messages.length})`, messagesOf(messages), true)],
    [
      'webhooks',
      webhooks,
      () => part(`Webhooks (${webhooks.length})`, webhooksOf(webhooks, summary, again), webhooks.length > 0),
    ],
    ['chip', tlv, () => part(`Chip (${tlv.length} tags)`, tlvTable(tlv), false)],
  ];
  if (story === undefined)
    byId('one-body').replaceChildren(
      h(
        'div',
        { class: 'story' },
        parts.map(([name]) => h('div', { 'data-part': name })),
      ),
    );
  const holder = byId('one-body').firstElementChild;
  for (const [at, [, data, draw]] of parts.entries()) {
    const place = holder.children[at];
    const text = JSON.stringify(data);
    if (place.shownText === text && !isRedrawn) continue;
    const wasOpen = place.firstElementChild?.open;
    const drawn = draw();
    if (wasOpen !== undefined) drawn.open = wasOpen;
    place.replaceChildren(drawn);
    place.shownText = text;
  }
  refund.update(present);
  story = present;
}

/** @param {Summary} summary */
function titleOf({ amount, type, disposition, status }) {
  return [typeName(type), amount, words(disposition ?? status)].filter(Boolean).join(' · ');
}

/**
 * @param {string} title
 * @param {unknown} content
 * @param {boolean} isOpen
 */
function part(title, content, isOpen) {
  return h('details', { open: isOpen, class: 'part' }, h('summary', {}, h('h3', {}, title)), content);
}

/** @type {[name: string, of: (summary: any) => unknown][]} */
const FACTS = [
  ['Acquirer', ({ acquirerId }) => acquirerName(acquirerId)],
  ['Merchant', ({ merchantId, merchant }) => merchantName(merchant, merchantId)],
  ['Reference', ({ merchantReference }) => merchantReference],
  ['Card', ({ scheme, maskedPan }) => [scheme, maskedPan].filter(Boolean).join(' ')],
  ['Response', ({ responseCode, responseText }) => [responseCode, responseText].filter(Boolean).join(' ')],
  ['Authorization', ({ authorizationCode }) => authorizationCode],
  ['STAN', ({ stan }) => stan],
  ['RRN', ({ rrn }) => rrn],
  ['Terminal', ({ xTid, tid, mid }) => [xTid, tid, mid].filter(Boolean).join(' · ')],
  [
    'Switch',
    ({ acquirerId, processorId, routeId }) =>
      processorId === null ? null : `${processorName(acquirerId, processorId)}, route ${routeId}`,
  ],
  ['Status', ({ status }) => status],
  [
    'Reversal',
    ({ reversal, reversalAttempts }) => (reversal === 'none' ? null : `${reversal}, ${reversalAttempts} sent`),
  ],
  ['Void', (summary) => summary.void],
  ['Refunded', ({ refunded }) => refunded],
  ['Attempt', ({ attempt }) => attempt],
  ['User', ({ userClaim }) => userClaim],
  ['Device', ({ deviceInstallationId }) => deviceInstallationId],
  ['Created', ({ createdAt }) => time(createdAt)],
  ['Updated', ({ updatedAt }) => time(updatedAt)],
  ['Id', ({ id }) => id],
  ['Correlation id', ({ correlationId }) => correlationId],
];

/** Facts that people paste elsewhere. */
const COPIED = new Set(['Reference', 'STAN', 'RRN', 'Device', 'Id']);
/** Facts that a confirmation repeats. */
const NAMED_IN_ACTS = ['Merchant', 'Card', 'Terminal', 'Switch', 'Reference'];
const OWED = ['owed', 'sent', 'confirming', 'needsReview'];

/**
 * Whether a void can be requested; the gateway also checks the settlement.
 *
 * @param {Summary} summary
 */
function isVoidable({ type, disposition, refunded, reversal, needsReview, void: voided }) {
  const isSale = type !== 'Refund' && type !== 'Void';
  return (
    isSale && !needsReview && disposition === 'Approved' && refunded === null && voided === null && reversal === 'none'
  );
}

/**
 * @param {Summary} summary
 * @param {Story['related']} related
 */
function summaryOf(summary, related) {
  const facts = FACTS.map(([name, of]) => /** @type {const} */ ([name, of(summary)])).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  return h(
    'div',
    {},
    summary.needsReview &&
      h(
        'p',
        { class: 'alarm' },
        'Review required: the switch has not acknowledged the reversal, or its responses contradict each other.',
      ),
    h(
      'dl',
      { class: 'facts' },
      facts.map(([name, value]) => factOf(name, String(value))),
    ),
    related.length > 0 && h('p', {}, 'Related: ', related.map(linkTo)),
  );
}

/**
 * What an act concerns, as its confirmation shows it.
 *
 * @param {Summary} summary
 * @returns {[name: string, value: unknown][]}
 */
const factsOfAct = (summary) =>
  /** @type {[name: string, value: unknown][]} */ (
    FACTS.filter(([name]) => NAMED_IN_ACTS.includes(name)).map(([name, of]) => [name, of(summary)])
  ).filter(([, value]) => value);

/**
 * What the person can do with the transaction, above everything that is known about it.
 *
 * @param {Summary} summary
 * @param {Again} again
 */
function actsOf(summary, again) {
  const { acquirerId, id } = summary;
  return h(
    'div',
    { class: 'acts' },
    refund.element,
    isVoidable(summary) &&
      actButton({
        isProminent: true,
        label: 'Void this sale',
        title: `Void ${summary.amount}?`,
        text: 'The whole sale is cancelled at the switch. Possible only before settlement and without refunds. It cannot be undone.',
        facts: [...factsOfAct(summary), ['Afterwards', 'Voided; nothing is left to refund']],
        yes: 'Void the sale',
        body: { act: 'voidSale', acquirerId, id },
        onDone: () => {
          setText(actResult, 'The void was requested. Its outcome appears here.');
          again();
        },
      }),
    OWED.includes(summary.reversal) &&
      actButton({
        isProminent: true,
        label: 'Retry the reversal now',
        title: 'Send the reversal now?',
        text: 'The next attempt is sent as soon as a connection is free on which the reversal cannot overtake the original request.',
        facts: factsOfAct(summary),
        yes: 'Send it',
        body: { act: 'retryReversal', acquirerId, id },
        onDone: () => {
          setText(actResult, 'The reversal was requested. Its progress is in the timeline.');
          again();
        },
      }),
    actResult,
  );
}

/** @param {Story['related'][number]} related */
function linkTo({ id, type, disposition }) {
  return h('a', { 'data-view': true, href: `/ops/transactions/${id}` }, `${typeName(type)} ${disposition ?? ''} `);
}

/**
 * @param {string} name
 * @param {string} value
 */
function factOf(name, value) {
  return h(
    'div',
    {},
    h('dt', {}, name),
    h('dd', {}, value, COPIED.has(name) && ' ', COPIED.has(name) && copyButton(value, name)),
  );
}

/**
 * The form of a note keeps its id until the note is stored: what is sent again after a lost response is the same note.
 *
 * @param {string} id of the transaction
 */
function noteFormOf(id) {
  let formId = newFormId();
  const text = h('textarea', { required: true, maxlength: MAX_NOTE_CHARS, rows: 2 });
  const said = h('p', { role: 'alert' });
  const button = h('button', { type: 'submit', class: 'quiet' }, 'Add the note');
  const onsubmit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!story) return;
    button.disabled = true;
    const path = `/acquirers/${story.summary.acquirerId}/transactions/${id}/notes`;
    try {
      await operate('POST', path, { body: { text: oneLine(text.value) }, formId });
      [formId, text.value] = [newFormId(), ''];
      setText(said, '');
      await read(readTransaction);
    } catch (error) {
      setText(said, error.message);
    }
    button.disabled = false;
  };
  const label = h('label', {}, 'Note for colleagues, without card data', text);
  return h('form', { class: 'resolve', onsubmit }, label, said, button);
}

/**
 * Each entry with the milliseconds since the previous one, and the notes of people after them.
 *
 * @param {readonly TrailEntry[]} trail
 * @param {Story['notes']} notes
 */
function trailOf(trail, notes) {
  if (trail.length + notes.length === 0) return h('p', { class: 'none' }, 'The audit trail is empty.');
  const startedAtMs = Date.parse(trail[0]?.at);
  return h(
    'ol',
    { class: 'trail' },
    trail.map((entry) =>
      h(
        'li',
        { 'data-kind': kindOf(entry) },
        h('time', { datetime: entry.at, title: entry.at }, `+${Date.parse(entry.at) - startedAtMs} ms`),
        h('span', {}, wordsOf(entry)),
        entry.attempt > 1 && h('small', {}, `attempt ${entry.attempt}`),
      ),
    ),
    notes.map(({ text, author, at }) =>
      h(
        'li',
        { 'data-kind': 'note' },
        h('time', { datetime: at }, time(at)),
        h('span', { class: 'reason' }, text),
        h('small', {}, author),
      ),
    ),
  );
}

/** @param {TrailEntry} entry */
function kindOf(entry) {
  if (entry.reversal || entry.late || entry.void || entry.resolution) return 'warn';
  return entry.to === 'RespondedToPhone' ? 'good' : '';
}

/** @param {TrailEntry} entry */
function wordsOf(entry) {
  if (entry.reversal) return `Reversal ${entry.attempt ?? ''} ${entry.reversal}`;
  if (entry.late) return `Late response: ${entry.late} ${entry.responseCode}`;
  if (entry.void) return 'Void requested';
  if (entry.resolution) return `Resolved by a person: ${entry.resolution}`;
  if (entry.pin) return `PIN ${entry.pin}`;
  return String(entry.to ?? '').replace(/([a-z])([A-Z])/g, '$1 $2');
}

/** @param {Story['messages']} messages */
function messagesOf(messages) {
  if (messages.length === 0)
    return h(
      'p',
      { class: 'none' },
      'No messages are stored: nothing was sent, the messages are older than a month, or the gateway was too busy to store them.',
    );
  return h(
    'div',
    {},
    messages.map((each) =>
      h(
        'section',
        { class: 'exchange' },
        h(
          'h4',
          {},
          `${each.kind}${each.kind === 'authorization' ? '' : ` ${each.number}`}`,
          ' ',
          h('span', { class: 'chip', 'data-state': each.outcome === 'responded' ? 'good' : 'bad' }, each.outcome),
          ' ',
          h('small', {}, `${time(each.sentAt)} · ${each.tookMs} ms · connection ${each.connection}`),
        ),
        h(
          'div',
          { class: 'pair' },
          h('div', { class: 'scroll', tabindex: 0 }, messageTable(each.request, 'Request', each.requestHex)),
          h('div', { class: 'scroll', tabindex: 0 }, messageTable(each.response, 'Response', each.responseHex)),
        ),
      ),
    ),
  );
}

/**
 * @param {Story['webhooks']} webhooks
 * @param {Summary} summary
 * @param {Again} again
 */
function webhooksOf(webhooks, { acquirerId }, again) {
  if (webhooks.length === 0) return h('p', { class: 'none' }, 'No webhook was due.');
  return h(
    'div',
    {},
    webhooks.map((event) => webhookOf(event, acquirerId, again)),
  );
}

/**
 * @param {WebhookEvent} event
 * @param {number} acquirerId
 * @param {Again} again
 */
function webhookOf({ id, type, state, tries }, acquirerId, again) {
  const chipState = /** @type {Record<string, string>} */ ({ delivered: 'good', pending: 'warn' })[state] ?? 'bad';
  const replay = actButton({
    label: 'Replay',
    name: `Replay the webhook ${id}`,
    title: 'Send this webhook again?',
    text: 'The same event is sent with the same id. Receivers that already processed the id ignore it.',
    yes: 'Replay',
    body: { act: 'replayWebhook', acquirerId, id },
    onDone: again,
  });
  return h(
    'section',
    { class: 'exchange' },
    h('h4', {}, type, ' ', h('span', { class: 'chip', 'data-state': chipState }, state), ' ', replay),
    h(
      'div',
      { class: 'scroll', tabindex: 0 },
      table(['Attempt', 'Time', 'URL', 'Response', 'Duration'], tries.map(tryRow)),
    ),
  );
}

/** @param {WebhookEvent['tries'][number]} each */
function tryRow(each) {
  return h(
    'tr',
    {},
    h('td', { class: 'n' }, each.number),
    h('td', {}, time(each.at)),
    h('td', { class: 'mono' }, each.url),
    h('td', {}, each.status ?? each.error ?? ''),
    h('td', { class: 'n' }, `${each.durationMs} ms`),
  );
}
