import { byId, count, h, keepInStep, setText } from './dom.js';
import { acquirerName, switchName } from './names.js';
import { clockTime, zoneName } from './time.js';

/** @typedef {import('./live.js').Frame} Frame */
/** @typedef {[state: string, text: string]} Trouble */

/** Above this share, the next process may find no free connection. */
const MAX_CONNECTIONS_SHARE = 0.9;
const TITLE = document.title;

/**
 * Problems that a person should examine, worst first.
 *
 * @param {Frame} frame
 * @returns {Trouble[]}
 */
function troublesOf({ switches, backlog, taps }) {
  const named = (/** @type {{ name: string }} */ { name }) => switchName(name);
  const down = switches.filter(({ availability }) => availability === 'down' || availability === 'closed');
  const unusable = switches.filter(({ availability }) => availability === 'unusable');
  const held = switches.filter(({ lines }) => lines.some(({ isHeld }) => isHeld));
  const { owed = [], deadLetters = [], webhooks = [], database = null } = backlog ?? {};
  const review = owed.reduce((sum, { needsReview }) => sum + needsReview, 0);
  const disabled = webhooks.filter(({ isDisabled }) => isDisabled);
  const isCrowded = database !== null && database.connections > database.mostConnections * MAX_CONNECTIONS_SHARE;
  const troubles = [
    ...down.map((each) => ['bad', `Switch ${named(each)} is down: taps for this switch cannot go online.`]),
    ...unusable.map((each) => [
      'bad',
      `Processor ${named(each)} cannot be opened, its routes are not used: see tapwire processor list.`,
    ]),
    review > 0 && ['bad', `${count(review)} transactions need review: see Uncertain transactions.`],
    deadLetters.length > 0 && ['bad', 'Jobs have failed permanently: see Dead letters.'],
    (taps.failedPerSecond ?? 0) > 0 && ['bad', 'Taps fail because of errors in the gateway: see the log.'],
    isCrowded && ['bad', 'Postgres has almost no free connections.'],
    ...disabled.map(({ acquirerId, integratorId }) => [
      'warn',
      `Webhooks of ${acquirerName(acquirerId)}, integrator ${integratorId}, are disabled: the receiver responded with 410.`,
    ]),
    ...held.map((each) => ['warn', `A connection of ${named(each)} is signed off by an operator.`]),
  ];
  return /** @type {Trouble[]} */ (troubles.filter(Boolean));
}

/**
 * Shows the problems above the figures, and their number in the title for users who have the page in the
 * background.
 *
 * @param {Frame} frame
 */
export function showTroubles(frame) {
  const troubles = troublesOf(frame);
  show(troubles.length > 0 ? troubles : [['good', 'No problems.']]);
  setTitle(troubles.length === 0 ? '' : `(${troubles.length}) `);
}

/**
 * Old figures do not state what is wrong now.
 *
 * @param {number} sinceMs
 */
export function showUnknown(sinceMs) {
  show([['bad', `Problems are unknown: there have been no figures since ${clockTime(sinceMs)} ${zoneName()}.`]]);
  setTitle('(?) ');
}

/** @param {Trouble[]} troubles */
function show(troubles) {
  keepInStep(
    byId('troubles'),
    troubles,
    ([, text]) => text,
    ([state, text]) => ({ element: h('li', { 'data-state': state }, text), update() {} }),
  );
}

/** @param {string} mark */
function setTitle(mark) {
  const title = `${mark}${TITLE}`;
  if (document.title !== title) setText(document.querySelector('title'), title);
}
