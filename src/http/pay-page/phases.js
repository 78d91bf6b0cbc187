// The texts for a customer, by the state of the link.

/**
 * @typedef {object} Phase
 * @property {string} name used by the style sheet
 * @property {string} headline
 * @property {string} explanation
 * @property {boolean} [isOpen] the link can be paid now
 * @property {boolean} [isLast] the phase is final
 * @property {string} [title] shown in place of the amount
 */

const EXPIRED = {
  name: 'expired',
  title: 'This payment link has expired',
  headline: 'No money was taken.',
  explanation: 'Ask the merchant for a new link.',
  isLast: true,
};

/** Keyed by the status with which the gateway refuses the link. */
const REFUSALS = {
  401: {
    name: 'broken',
    title: 'This payment link is not complete',
    headline: 'Part of its address is missing.',
    explanation: 'Open the original link again, or scan the QR code again.',
    isLast: true,
  },
  404: {
    name: 'unknown',
    title: 'Payment not found',
    headline: 'No money was taken.',
    explanation: 'Ask the merchant for a new link.',
    isLast: true,
  },
  410: { ...EXPIRED, headline: 'You can no longer pay with this link.' },
};

export const BROKEN = REFUSALS[401];

const READER_APP = {
  name: 'reader-app',
  title: 'Nothing to pay here',
  headline: 'This link is for the merchant’s own reader app.',
  explanation: 'The link has no payment page.',
  isLast: true,
};

/** Shown together with the last known state until the gateway answers again. */
export const OFFLINE = {
  name: 'offline',
  headline: 'No connection.',
  explanation: 'Trying again …',
};

const BY_STATE = {
  QRCodeGenerated: { name: 'waiting', headline: 'Ready to be paid.', explanation: '', isOpen: true },
  QRCodeScanned: { name: 'scanned', headline: 'Opened on a phone.', explanation: 'Continue there.', isOpen: true },
  TransactionStarted: {
    name: 'started',
    headline: 'The phone is ready.',
    explanation: 'Hold your card to its back.',
    isOpen: true,
  },
  TransactionCreated: {
    name: 'processing',
    headline: 'Asking the bank …',
    explanation: 'This takes a few seconds. Follow the phone.',
  },
};

const BY_DISPOSITION = {
  Approved: { name: 'paid', headline: 'Paid.', explanation: 'Thank you.', isLast: true },
  Declined: {
    name: 'declined',
    headline: 'Declined.',
    explanation: 'No money was taken. Try another card.',
    isOpen: true,
  },
  UnableToGoOnline: {
    name: 'declined',
    headline: 'The bank is unavailable.',
    explanation: 'No money was taken. Try again in a moment.',
    isOpen: true,
  },
  // An automatic reversal. A void by the merchant is CANCELLED.
  Voided: {
    name: 'declined',
    headline: 'Cancelled.',
    explanation: 'No money was taken. You can pay again.',
    isOpen: true,
  },
  Indeterminate: {
    name: 'uncertain',
    headline: 'The bank has not responded.',
    explanation: 'Please do not pay again. We are making sure that no money is taken.',
  },
};

/** The merchant voided the sale, so the link stays closed. */
const CANCELLED = {
  name: 'expired',
  headline: 'Cancelled by the merchant.',
  explanation: 'The payment was voided. To pay after all, ask the merchant for a new link.',
  isLast: true,
};

/** A debit order is authorised, not paid. */
const OF_A_DEBIT_ORDER = {
  waiting: {
    ...BY_STATE.QRCodeGenerated,
    headline: 'Waiting for your card.',
    explanation: 'Your card authorises the debit order.',
  },
  paid: { ...BY_DISPOSITION.Approved, headline: 'Debit order authorised.' },
};

/**
 * @param {object} state response of `GET /pay/<reference>/state`
 * @returns {Phase}
 */
export function phaseOf({ disposition, qrCodeState, expired, cancelled, isConsumerApp, type }) {
  if (!isConsumerApp) return READER_APP;
  if (expired) return EXPIRED;
  if (cancelled) return CANCELLED;
  const phase = BY_DISPOSITION[disposition] ?? BY_STATE[qrCodeState] ?? BY_STATE.TransactionCreated;
  return (type === 'TT3' && OF_A_DEBIT_ORDER[phase.name]) || phase;
}

/** @returns {Phase | undefined} undefined for a refusal that may be temporary */
export function phaseOfRefusal(status) {
  if (status === 400 || status === 403) return REFUSALS[404];
  return REFUSALS[status];
}
