import { byId, count, h, keepInStep, setText } from './dom.js';

/** Above this share, the next process may find no free connection. */
const MOST_CONNECTIONS_SHARE = 0.9;
const TITLE = document.title;

/** Problems that a person should examine, worst first. */
function troublesOf({ switches, backlog, taps }) {
  const named = ({ name }) => name.replace(' ', ' · ');
  const down = switches.filter(({ availability }) => availability === 'down' || availability === 'closed');
  const held = switches.filter(({ lines }) => lines.some(({ isHeld }) => isHeld));
  const { owed = [], deadLetters = [], webhooks = [], database = null } = backlog ?? {};
  const review = owed.reduce((sum, { needsReview }) => sum + needsReview, 0);
  const disabled = webhooks.filter(({ isDisabled }) => isDisabled);
  const isCrowded = database !== null && database.connections > database.mostConnections * MOST_CONNECTIONS_SHARE;
  return [
    ...down.map((each) => ['bad', `Switch ${named(each)} is down: taps for this switch cannot go online.`]),
    review > 0 && ['bad', `${count(review)} transactions need review: see Uncertain transactions.`],
    deadLetters.length > 0 && ['bad', 'Jobs have failed permanently: see Dead letters.'],
    taps.failedPerSecond > 0 && ['bad', 'Taps fail because of errors in the gateway: see the log.'],
    isCrowded && ['bad', 'Postgres has almost no free connections.'],
    ...disabled.map(({ acquirerId, integratorId }) => [
      'warn',
      `Webhooks of ${acquirerId} · ${integratorId} are disabled: the receiver responded with 410.`,
    ]),
    ...held.map((each) => ['warn', `A connection of ${named(each)} is signed off by an operator.`]),
  ].filter(Boolean);
}

/**
 * Shows the problems above the figures, and their number in the title for users who have the page in the
 * background.
 */
export function showTroubles(frame) {
  const troubles = troublesOf(frame);
  const shown = troubles.length > 0 ? troubles : [['good', 'No problems.']];
  keepInStep(
    byId('troubles'),
    shown,
    ([, text]) => text,
    ([state, text]) => ({ element: h('li', { 'data-state': state }, text), update() {} }),
  );
  setTitle(troubles.length === 0 ? '' : `(${troubles.length}) `);
}

/** @param mark text before the page's name in the tab */
export function setTitle(mark) {
  const title = `${mark}${TITLE}`;
  if (document.title !== title) setText(document.querySelector('title'), title);
}
