import {
  ACTION_CODES_1993,
  type Framing,
  type MatchFields,
  type ProcessorProfile,
  REVERSAL_CODES_1993,
  REVERSAL_SCHEDULE,
} from '#processor-kit';

/** Two bytes of length that do not include themselves; no transport header. */
export const framing: Framing = {
  lengthHeader: 'binary-2',
  /** The longest message that the switch documents is 4 KB; script templates may double it. */
  maxFrameBytes: 8_192,
};

/** A STAN comes round within a day on a busy acquirer: DE7 distinguishes the two. */
export const match: MatchFields = {
  1: ['stan', 'tid', 'transmissionDateTime'],
  2: ['stan', 'tid', 'transmissionDateTime'],
  4: ['stan', 'tid', 'transmissionDateTime'],
  8: ['stan', 'transmissionDateTime'],
};

export const profile: ProcessorProfile = {
  deadlineMs: 30_000,
  maxInFlight: 512,
  idleEchoMs: 60_000,
  partialApproval: false,
  // DE56 names an original without its terminal.
  stanScope: 'acquirer',
  codes: ACTION_CODES_1993,
  echoed: ['amount', 'transmissionDateTime', 'stan', 'localDateTime', 'rrn', 'tid', 'currency'],
  amountField: 'amount',
  reversal: {
    keepsStan: true,
    ...REVERSAL_SCHEDULE,
    codes: REVERSAL_CODES_1993,
  },
  // DE24 of 1804.
  network: { signOn: '801', signOff: '802', echo: '831', keyChange: '811', cutOver: '821' },
};

/** DE39 of an accepted network message. */
export const NETWORK_ACCEPTED = '800';
