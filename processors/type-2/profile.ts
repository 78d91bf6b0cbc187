import {
  declineCodes,
  type Framing,
  type MatchFields,
  PIN_REQUIRED_CODES,
  type ProcessorProfile,
  REVERSAL_CODES,
  REVERSAL_SCHEDULE,
} from '#processor-kit';

/** Two bytes of length, then a TPDU: 60, destination, source. The switch responds with the last two swapped. */
export const framing: Framing = {
  lengthHeader: 'binary-2',
  transportHeader: { kind: 'tpdu', bytes: Uint8Array.of(0x60, 0x00, 0x01, 0x00, 0x00) },
  /** The switch's own buffers hold 2 KB; script templates may double it. */
  maxFrameBytes: 4_096,
};

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
    keepsStan: false,
    ...REVERSAL_SCHEDULE,
    codes: REVERSAL_CODES,
  },
  // DE3 of 0800, because the single bitmap has no space for DE70.
  network: { signOn: '920000', signOff: '930000', echo: '990000', keyChange: '910000', cutOver: '940000' },
};
