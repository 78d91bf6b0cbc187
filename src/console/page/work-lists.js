import { actButton } from './acts.js';
import { cancelLink } from './cancel-link.js';
import { h } from './dom.js';
import { words } from './list-row.js';
import { acquirerName, merchantName, processorName } from './names.js';
import { time } from './time.js';

/** @typedef {any} Row of a list: the columns of its table (console/store/work-lists.ts) */
/** @typedef {() => unknown} Again reads the list again */
/** @typedef {{ name: string, label: string, options?: string[][], [attribute: string]: unknown }} Filter */
/** @typedef {[title: string, cell: (row: Row, again: Again) => unknown]} Column */
/**
 * @typedef {object} List
 * @property {string} title
 * @property {Filter[]} filters
 * @property {Column[]} columns
 * @property {(filter: Record<string, unknown>, again: Again) => Node | null} [acts] a button for the whole list
 */

/** What each list of the work view shows: its filters, and its columns as `[title, cell]`. */

/** @param {string | null} iso */
const when = (iso) => (iso ? time(iso) : '–');
/**
 * @param {string} text
 * @param {string} state
 */
const chip = (text, state) => h('span', { class: 'chip', 'data-state': state }, text);
/** @param {Row} row */
const owner = ({ acquirerId }) => (acquirerId === 0 ? 'Installation' : acquirerName(acquirerId));
/** @param {string} id */
const transaction = (id) => h('a', { 'data-view': true, href: `/ops/transactions/${id}` }, id);
/** @param {unknown} text */
const long = (text) => h('span', { class: 'long' }, text);

const EVENT_STATES = ['pending', 'delivered', 'failed', 'stopped'];
const LINK_STATES = ['open', 'held', 'paid', 'expired', 'cancelled'];
const JOB_STATES = ['ready', 'active', 'later', 'retry', 'dead'];
const QUEUES = [
  ...['authorize', 'refund', 'expire-pin', 'expire-link'],
  ...['reverse', 'complete', 'purge', 'webhook', 'push'],
];
/** @type {Record<string, string>} */
const STATE_MARKS = {
  delivered: 'good',
  pending: 'warn',
  open: 'good',
  paid: 'good',
  held: 'warn',
  active: 'good',
  retry: 'warn',
  dead: 'bad',
  failed: 'bad',
  stopped: 'bad',
};
const PERIODS = [
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
];
const acquirer = { name: 'acquirer', label: 'Acquirer', inputmode: 'numeric', pattern: '[1-9][0-9]{0,8}' };
const period = { name: 'period', label: 'Period', options: PERIODS };

/** @type {Record<string, string>} The codes of a failure in words. */
const PUSH_OUTCOMES = {
  sent: 'sent',
  queued: 'waits for the push service',
  NO_PUSH_TOKEN: 'failed: the device has no push token',
  UNREGISTERED: 'failed: the app is no longer on the device',
  REFUSED: 'failed: refused by the push service',
  NOT_CONFIGURED: 'failed: no push service is configured',
  UNAVAILABLE: 'failed: the push service did not respond',
};

/** @type {Record<string, List>} */
export const LISTS = {
  webhooks: {
    title: 'Webhooks',
    filters: [
      { name: 'state', label: 'State', options: EVENT_STATES.map((each) => [each, each]) },
      { name: 'merchant', label: 'Merchant id', maxlength: 255 },
      acquirer,
      period,
    ],
    acts: replayAll,
    columns: [
      ['Created', ({ createdAt }) => when(createdAt)],
      ['State', ({ state }) => chip(state, STATE_MARKS[state])],
      ['Event', ({ type }) => type],
      ['Transaction', ({ transactionId }) => transaction(transactionId)],
      ['Acquirer', owner],
      ['Integrator', ({ integratorId }) => integratorId],
      ['Merchant', ({ merchantId }) => merchantId ?? '–'],
      ['Attempts', ({ attempts }) => attempts],
      ['Last response', ({ status, error }) => long(status ?? error ?? '–')],
      ['Next attempt', ({ nextAt }) => when(nextAt)],
      ['', replayOne],
    ],
  },
  links: {
    title: 'Links',
    filters: [
      { name: 'state', label: 'State', options: LINK_STATES.map((each) => [each, each]) },
      { name: 'reference', label: 'Reference or id', maxlength: 255 },
      { name: 'merchant', label: 'Merchant id', maxlength: 255 },
      acquirer,
      period,
    ],
    columns: [
      ['Created', ({ createdAt }) => when(createdAt)],
      ['State', ({ state }) => chip(state, STATE_MARKS[state])],
      ['Amount', ({ amount }) => amount],
      ['Reference', ({ reference }) => long(reference)],
      ['Merchant', ({ merchant, merchantId }) => merchantName(merchant, merchantId)],
      ['Acquirer', owner],
      ['Kind', ({ kind }) => kind],
      ['Pushed', pushed],
      ['Last tap', lastTap],
      ['Expires', ({ expiresAt }) => when(expiresAt)],
      ['', cancelLink],
    ],
  },
  jobs: {
    title: 'Jobs',
    filters: [
      { name: 'queue', label: 'Queue', options: QUEUES.map((each) => [each, each]) },
      { name: 'state', label: 'State', options: JOB_STATES.map((each) => [each, each]) },
      acquirer,
    ],
    columns: [
      ['Created', ({ createdAt }) => when(createdAt)],
      ['Queue', ({ queue }) => queue],
      ['State', ({ state }) => chip(state, STATE_MARKS[state])],
      ['Subject', ({ names }) => long(subjectOf(names))],
      ['Next time', ({ nextAt, state }) => (state === 'dead' ? '–' : when(nextAt))],
      ['Retries', ({ retries }) => retries],
      ['Last error', ({ error }) => long(error ?? '–')],
      ['', retryDead],
    ],
  },
  processors: {
    title: 'Processors',
    filters: [acquirer],
    columns: [
      ['Acquirer', owner],
      ['Processor', ({ acquirerId, id }) => processorName(acquirerId, id)],
      ['Type', ({ type }) => type],
      ['Changed', ({ updatedAt }) => when(updatedAt)],
      ['Removed', ({ removedAt }) => when(removedAt)],
    ],
  },
  routes: {
    title: 'Routes',
    filters: [acquirer],
    columns: [
      ['Acquirer', owner],
      ['Route', ({ id }) => id],
      ['Processor', ({ acquirerId, processorId }) => processorName(acquirerId, processorId)],
      ['Priority', ({ priority }) => priority],
      ['Currency', ({ currency }) => currency ?? 'any'],
      ['Scheme', ({ scheme }) => scheme ?? 'any'],
      ['Changed', ({ updatedAt }) => when(updatedAt)],
      ['Removed', ({ removedAt }) => when(removedAt)],
    ],
  },
  users: {
    title: 'Users',
    filters: [acquirer],
    columns: [
      ['Username', ({ username }) => username],
      ['Acquirer', owner],
      ['Integrator', ({ integratorId }) => integratorId ?? '–'],
      ['Merchant', ({ merchantId }) => merchantId ?? '–'],
      ['Role', ({ role }) => role],
      ['State', ({ isBlocked }) => chip(isBlocked ? 'blocked' : 'active', isBlocked ? 'bad' : 'good')],
      ['Last login', ({ lastLoginAt }) => when(lastLoginAt)],
    ],
  },
  audit: {
    title: 'Audit',
    filters: [{ name: 'kind', label: 'Kind', maxlength: 32 }, acquirer, period],
    columns: [
      ['Time', ({ createdAt }) => when(createdAt)],
      ['Author', ({ actor }) => actor],
      ['Action', ({ action }) => action],
      ['Kind', ({ kind }) => kind],
      ['Subject', ({ subject }) => long(subject)],
      ['Acquirer', owner],
      ['After', ({ after }) => long(after ?? '–')],
    ],
  },
};

/** @param {Record<string, unknown>} names */
function subjectOf(names) {
  return Object.entries(names)
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value.slice(0, 3).join(', ') : value}`)
    .join(' · ');
}

/** @param {Row} row */
function pushed({ pushedAt, pushOutcome, device }) {
  if (!pushedAt) return '–';
  return long(`${PUSH_OUTCOMES[pushOutcome] ?? pushOutcome}, to ${device}, ${time(pushedAt)}`);
}

/** @param {Row} row */
function lastTap({ transactionId, disposition }) {
  if (transactionId === null) return '–';
  const href = `/ops/transactions/${transactionId}`;
  return h('a', { 'data-view': true, href }, words(disposition ?? 'InProgress'));
}

/**
 * @param {Row} row
 * @param {Again} again
 */
function replayOne({ acquirerId, id }, again) {
  return actButton({
    label: 'Replay',
    name: `Replay the webhook ${id}`,
    title: 'Send this webhook again?',
    text: 'The same event is sent with the same id. Receivers that already processed the id ignore it.',
    yes: 'Replay',
    body: { act: 'replayWebhook', acquirerId, id },
    onDone: again,
  });
}

/**
 * Only events that wait for a person: pending ones follow their schedule, and delivered ones are replayed one by one.
 *
 * @param {Record<string, unknown>} filter
 * @param {Again} again
 */
function replayAll(filter, again) {
  if (filter.state !== 'failed' && filter.state !== 'stopped') return null;
  return actButton({
    label: 'Replay all of this filter',
    title: `Send all ${filter.state} webhooks of this filter again?`,
    text: 'At most 1,000 at once: choose a shorter period or a merchant if there are more. Each event keeps its id.',
    yes: 'Replay all',
    body: { act: 'replayWebhooks', filter },
    onDone: again,
  });
}

/**
 * Every queue's jobs can be retried: each job looks at the present state of its subject first, and does nothing twice.
 *
 * @param {Row} row
 * @param {Again} again
 */
function retryDead({ id, state, queue }, again) {
  if (state !== 'dead') return null;
  return actButton({
    label: 'Retry',
    name: `Retry the job ${id}`,
    title: `Retry this job of ${queue}?`,
    text: 'The job looks at the present state of its subject. If its work is done already, it does nothing.',
    yes: 'Retry',
    body: { act: 'redriveDeadLetter', id },
    onDone: again,
  });
}
