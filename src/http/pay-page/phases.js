// What the page shows in each state of the link. The texts are in texts/<language>.json, under the key of the phase.

import { texts } from './texts.js';

/**
 * @typedef {object} Phase
 * @property {string} name used by the style sheet
 * @property {string} headline
 * @property {string} explanation
 * @property {boolean} [isOpen] the link can be paid now
 * @property {boolean} [isLast] the phase is final
 * @property {boolean} [isWaiting] the bank was asked and has not responded
 * @property {string} [title] shown in place of the amount
 */

/**
 * @param {string} key
 * @param {string} name
 * @param {Partial<Phase>} [properties]
 * @returns {Phase}
 */
const phase = (key, name, properties = {}) => ({ name, ...texts.phases[key], ...properties });
const OPEN = { isOpen: true };
const LAST = { isLast: true };
const WAITING = { isWaiting: true };

/** Banks respond within seconds; after this time the page no longer says so. */
const SLOW_AFTER_SECONDS = 8;
/** Longer than the gateway waits for a switch by default (30 s): its worker now finds out what happened. */
const SILENT_AFTER_SECONDS = 40;

const EXPIRED = phase('expired', 'expired', LAST);
/** The merchant voided the sale, so the link stays closed. */
const VOIDED = phase('voided', 'expired', LAST);
const READER_APP = phase('readerApp', 'reader-app', LAST);

/** @type {Record<number, Phase>} Keyed by the status with which the gateway refuses the link. */
const REFUSALS = {
  401: phase('broken', 'broken', LAST),
  404: phase('unknown', 'unknown', LAST),
  410: phase('refusedAsExpired', 'expired', LAST),
};

export const BROKEN = REFUSALS[401];

const OFFLINE = phase('offline', 'offline');
const OFFLINE_WHILE_PAYING = phase('offlineWhilePaying', 'offline');
const SLOW_CONNECTION = phase('slowConnection', 'offline');

/** @type {Partial<Record<string, Phase>>} */
const BY_STATE = {
  QRCodeGenerated: phase('waiting', 'waiting', OPEN),
  QRCodeScanned: phase('scanned', 'scanned', OPEN),
  TransactionStarted: phase('started', 'started', OPEN),
};

const PIN = phase('pin', 'started');
const ASKING = phase('asking', 'processing', WAITING);
const SLOW_BANK = phase('slowBank', 'processing', WAITING);
const SILENT_BANK = phase('silentBank', 'processing', WAITING);

/** @type {Partial<Record<string, Phase>>} */
const BY_DISPOSITION = {
  Approved: phase('paid', 'paid', LAST),
  Declined: phase('declined', 'declined', OPEN),
  UnableToGoOnline: phase('unavailable', 'declined', OPEN),
  // An automatic reversal. A void by the merchant is VOIDED.
  Voided: phase('reversed', 'declined', OPEN),
  Indeterminate: phase('uncertain', 'uncertain'),
};

/** @type {Partial<Record<string, Phase>>} A debit order is authorized, not paid. */
const OF_A_DEBIT_ORDER = {
  waiting: phase('mandateWaiting', 'waiting', OPEN),
  paid: phase('mandatePaid', 'paid', LAST),
};

/**
 * @param {import('../../../schemas/pay-page.ts').PayPageState} state response of `GET /pay/<reference>/state`
 * @returns {Phase}
 */
export function phaseOf(state) {
  const { disposition, qrCodeState, expired, cancelled, isConsumerApp, type, awaitsPin, waitedSeconds } = state;
  if (!isConsumerApp) return READER_APP;
  if (expired) return EXPIRED;
  if (cancelled) return VOIDED;
  if (awaitsPin) return PIN;
  const shown = (disposition && BY_DISPOSITION[disposition]) ?? BY_STATE[qrCodeState] ?? phaseOfWait(waitedSeconds);
  return (type === 'TT3' && OF_A_DEBIT_ORDER[shown.name]) || shown;
}

/** @param {number} seconds since the bank was asked */
export function phaseOfWait(seconds) {
  if (seconds < SLOW_AFTER_SECONDS) return ASKING;
  return seconds < SILENT_AFTER_SECONDS ? SLOW_BANK : SILENT_BANK;
}

/**
 * What a page without a response of the gateway shows, beside its last known state.
 *
 * @param {Phase | undefined} last phase shown before
 * @param {boolean} isSlow the response is late, and may still arrive
 */
export function phaseWithoutNews(last, isSlow) {
  if (isSlow) return SLOW_CONNECTION;
  return last?.isWaiting || last?.name === 'started' ? OFFLINE_WHILE_PAYING : OFFLINE;
}

/**
 * @param {number} status
 * @returns {Phase | undefined} undefined for a refusal that may be temporary
 */
export function phaseOfRefusal(status) {
  if (status === 400 || status === 403) return REFUSALS[404];
  return REFUSALS[status];
}
