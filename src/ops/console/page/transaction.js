import { actButton } from './acts.js';
import { readTransaction } from './ask.js';
import { h, table, time } from './dom.js';
import { messageTable, tlvTable } from './message.js';
import { openPanel } from './panel.js';

/** All stored data about a transaction. */
export async function openTransaction(acquirerId, id, back) {
  try {
    const story = await readTransaction(acquirerId, id);
    const again = () => openTransaction(acquirerId, id, back);
    openPanel(titleOf(story.summary), storyOf(story, again), back);
  } catch (error) {
    openPanel(error.status === 404 ? 'Not found' : 'Not shown', h('p', { role: 'alert' }, error.message), back);
  }
}

function titleOf({ amount, type, disposition, status }) {
  return [type, amount, disposition ?? status].filter(Boolean).join(' · ');
}

function storyOf({ summary, trail, messages, tlv, webhooks, related }, again) {
  return h(
    'div',
    { class: 'story' },
    summaryOf(summary, related, again),
    part('Timeline', trailOf(trail), true),
    part(`Messages (${messages.length})`, messagesOf(messages), true),
    part(`Webhooks (${webhooks.length})`, webhooksOf(webhooks, summary, again), webhooks.length > 0),
    part(`Chip (${tlv.length} tags)`, tlvTable(tlv), false),
  );
}

function part(title, content, isOpen) {
  return h('details', { open: isOpen, class: 'part' }, h('summary', {}, h('h3', {}, title)), content);
}

const FACTS = [
  ['Merchant', ({ merchantId, merchant }) => [merchantId, merchant].filter(Boolean).join(' ')],
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
      processorId === null ? null : `${acquirerId} · ${processorId}, route ${routeId}`,
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
  ['Id', ({ id }) => id],
];

const OWED = ['owed', 'sent', 'confirming', 'needsReview'];

function summaryOf(summary, related, again) {
  const facts = FACTS.map(([name, of]) => [name, of(summary)]).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const { acquirerId, id } = summary;
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
      facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, String(value)))),
    ),
    related.length > 0 &&
      h(
        'p',
        {},
        'Related: ',
        related.map((each) =>
          h(
            'button',
            { type: 'button', class: 'link', onclick: () => openTransaction(acquirerId, each.id, again) },
            `${each.type} ${each.disposition ?? ''} `,
          ),
        ),
      ),
    OWED.includes(summary.reversal) &&
      actButton({
        label: 'Retry the reversal now',
        title: 'Send the reversal now?',
        text: 'The next attempt is sent as soon as a connection is free on which the reversal cannot overtake the original request.',
        yes: 'Send it',
        body: { act: 'retryReversal', acquirerId, id },
        onDone: again,
      }),
  );
}

/** Each entry with the milliseconds since the previous one. */
function trailOf(trail) {
  if (trail.length === 0) return h('p', { class: 'none' }, 'The audit trail is empty.');
  const startedAtMs = Date.parse(trail[0].at);
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
  );
}

function kindOf(entry) {
  if (entry.reversal || entry.late || entry.void) return 'warn';
  return entry.to === 'RespondedToPhone' ? 'good' : '';
}

function wordsOf(entry) {
  if (entry.reversal) return `Reversal ${entry.attempt ?? ''} ${entry.reversal}`;
  if (entry.late) return `Late response: ${entry.late} ${entry.responseCode}`;
  if (entry.void) return 'Void requested';
  if (entry.pin) return `PIN ${entry.pin}`;
  return String(entry.to ?? '').replace(/([a-z])([A-Z])/g, '$1 $2');
}

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
          h('span', { class: 'chip', 'data-state': each.outcome === 'answered' ? 'good' : 'bad' }, each.outcome),
          ' ',
          h('small', {}, `${time(each.sentAt)} · ${each.tookMs} ms · connection ${each.connection}`),
        ),
        h(
          'div',
          { class: 'pair' },
          h('div', { class: 'scroll', tabindex: 0 }, messageTable(each.request, 'Request')),
          h('div', { class: 'scroll', tabindex: 0 }, messageTable(each.response, 'Response')),
        ),
      ),
    ),
  );
}

function webhooksOf(webhooks, { acquirerId }, again) {
  if (webhooks.length === 0) return h('p', { class: 'none' }, 'No webhook was due.');
  return h(
    'div',
    {},
    webhooks.map((event) => webhookOf(event, acquirerId, again)),
  );
}

function webhookOf({ id, type, state, tries }, acquirerId, again) {
  const chipState = { delivered: 'good', pending: 'warn' }[state] ?? 'bad';
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
    table(['Attempt', 'Time', 'URL', 'Response', 'Duration'], tries.map(tryRow)),
  );
}

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
