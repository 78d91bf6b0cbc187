import {
  declineCodes,
  type Framing,
  type MatchFields,
  PIN_REQUIRED_CODES,
  type ProcessorProfile,
  REVERSAL_CODES,
  REVERSAL_SCHEDULE,
} from '#processor-kit';

// EDIT: the length that precedes a message, and a transport header, if the network has one (`TransportHeader`).
export const framing: Framing = { lengthHeader: 'binary-2', maxFrameBytes: 4_096 };

// EDIT: the fields that pair a response with its request, per message class (the second digit of the MTI).
export const match: MatchFields = {
  1: ['stan', 'tid', 'transmissionDateTime'],
  4: ['stan', 'tid', 'transmissionDateTime'],
  8: ['stan', 'transmissionDateTime'],
};

// EDIT: how your switch behaves. A code in no list is unknown, and an unknown outcome is reversed.
export const profile: ProcessorProfile = {
  deadlineMs: 30_000,
  maxInFlight: 256,
  idleEchoMs: 60_000,
  partialApproval: false,
  // EDIT: `terminal` only if each field by which your switch finds a message contains the terminal.
  stanScope: 'acquirer',
  codes: {
    approved: ['00'],
    partial: [],
    declined: declineCodes(),
    review: ['94'],
    pinRequired: PIN_REQUIRED_CODES,
  },
  echoed: ['amount', 'stan', 'rrn', 'tid', 'currency'],
  amountField: 'amount',
  // EDIT: the response codes of your switch to a reversal. A code in no list decides nothing, and the reversal is
  // repeated.
  reversal: { keepsStan: true, ...REVERSAL_SCHEDULE, codes: REVERSAL_CODES },
  network: { signOn: '001', signOff: '002', echo: '301' },
};
