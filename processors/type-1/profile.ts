import {
  declineCodes,
  type Framing,
  type MatchFields,
  PIN_REQUIRED_CODES,
  type ProcessorProfile,
  REVERSAL_CODES,
  REVERSAL_SCHEDULE,
} from '#processor-kit';

/** Two bytes of length that do not include themselves; no transport header. */
export const framing: Framing = {
  lengthHeader: 'binary-2',
  /** The longest message that the switch documents is 4 KB; script templates may double it. */
  maxFrameBytes: 8_192,
};

/** A STAN comes round within a day on a busy acquirer: DE7 distinguishes the two. Network messages have no terminal. */
export const match: MatchFields = {
  1: ['stan', 'tid', 'transmissionDateTime'],
  2: ['stan', 'tid', 'transmissionDateTime'],
  4: ['stan', 'tid', 'transmissionDateTime'],
  8: ['stan', 'transmissionDateTime'],
};

export const profile: ProcessorProfile = {
  deadlineMs: 30_000,
  maxInFlight: 1_024,
  idleEchoMs: 60_000,
  partialApproval: false,
  // 127.2, DE37 and DE90 have the STAN without the terminal.
  stanScope: 'acquirer',
  codes: {
    approved: ['00', '08', '11', '16'],
    partial: ['10'],
    declined: declineCodes(),
    review: ['94'],
    pinRequired: PIN_REQUIRED_CODES,
  },
  echoed: ['amount', 'transmissionDateTime', 'stan', 'rrn', 'tid', 'currency'],
  amountField: 'amount',
  reversal: {
    keepsStan: true,
    ...REVERSAL_SCHEDULE,
    codes: { ...REVERSAL_CODES, acknowledged: ['00', '08', '11', '16'] },
  },
  network: { signOn: '001', signOff: '002', echo: '301', keyChange: '101', cutOver: '201' },
};
