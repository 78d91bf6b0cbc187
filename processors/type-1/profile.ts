import type { Framing, MatchFields, ProcessorProfile } from '#processor-kit';

/** Two bytes of length that do not count themselves; no transport header. */
export const framing: Framing = {
  lengthBytes: 2,
  lengthIncludesHeader: false,
  /** The longest message that the switch documents is 4 KB; script templates may double it. */
  maxFrameBytes: 8_192,
};

/**
 * A STAN is unique per terminal only, and comes round within a day on a busy one: DE7 tells the rounds apart. Network
 * messages have no terminal.
 */
export const match: MatchFields = {
  1: ['stan', 'tid', 'transmissionDateTime'],
  2: ['stan', 'tid', 'transmissionDateTime'],
  4: ['stan', 'tid', 'transmissionDateTime'],
  8: ['stan', 'transmissionDateTime'],
};

// The codes of ISO 8583:1987 A.8 that say no. 09, 32 and 68 are left out on purpose: after them nobody knows.
const DECLINED = [
  ...['01', '02', '03', '04', '05', '06', '07', '12', '13', '14', '15', '17', '18', '19', '20', '21', '22', '23', '24'],
  ...['25', '26', '27', '28', '29', '30', '31', '33', '34', '35', '36', '37', '38', '39', '40', '41', '42', '43', '44'],
  ...['51', '52', '53', '54', '57', '58', '59', '60', '61', '62', '63', '64', '65', '66', '67', '70', '75', '90', '91'],
  ...['92', '93', '95', '96', '1A'],
];

export const profile: ProcessorProfile = {
  deadlineMs: 30_000,
  maxInFlight: 1_024,
  idleEchoMs: 60_000,
  partialApproval: false,
  stanScope: 'terminal',
  codes: {
    approved: ['00', '08', '11', '16'],
    partial: ['10'],
    declined: DECLINED,
    review: ['94'],
    pinRequired: [
      { code: '70', scheme: 'Visa' },
      { code: '65', scheme: 'Mastercard', needsIssuerFlag: true },
      { code: '65', scheme: 'Maestro', needsIssuerFlag: true },
      { code: '1A', scheme: 'Amex', needsIssuerFlag: true },
      { code: '55' },
    ],
  },
  echoed: ['amount', 'transmissionDateTime', 'stan', 'rrn', 'tid', 'currency'],
  amountField: 'amount',
  reversal: {
    keepsStan: true,
    delaysSeconds: [5, 30, 120, 600, 1_800, 3_600],
    giveUpAfterSeconds: 72 * 3_600,
    acknowledged: ['00', '08', '11', '16', '21', '94'],
    unableToLocate: ['25'],
  },
  network: { signOn: '001', signOff: '002', echo: '301', keyChange: '101', cutOver: '201' },
};
