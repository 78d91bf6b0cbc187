/** The fields by which a switch recognizes a request that it received before, besides DE32. */
export type DuplicateKey = 'DE7, DE11 and DE41' | 'DE11 and DE41' | 'DE37' | '127.2' | 'DE90';

/** The fields by which a switch finds what a reversal names, besides DE32. */
export type OriginalKey = 'DE90 and DE41' | 'DE90' | 'DE37' | '127.11' | 'DE11 and DE41';

/**
 * The rules of an honest switch: it never lies, and nothing in its rules comes from the gateway. It takes every message
 * at its word, and responds according to its books.
 */
export interface Behaviour {
  readonly name: string;
  /** Null: every request is booked, however often it arrives. */
  readonly duplicatesBy: DuplicateKey | null;
  /** `94`, or the response to the first of them. */
  readonly onDuplicate: 'says 94' | 'repeats its response';
  /** Reversals are compared with all messages before, their original included. */
  readonly comparesReversals?: boolean;
  readonly originalsBy: OriginalKey;
  /** A refund returns the money of the sale that its 127.11 names, and not that of its own DE42. */
  readonly refundsNamedSale?: boolean;
  /** To the reversal of what is reversed. */
  readonly onReversed: '00' | '94' | '57' | '25';
  /** Otherwise 57. */
  readonly reversesRefunds: boolean;
  /** The network may deliver a request twice. */
  readonly doubles?: boolean;
  /** Codes with which it may respond to what it has booked: something else of its work has failed. */
  readonly troubles?: readonly string[];
  /** It may approve for the issuer, which declines later: then nothing stands, and a second response says so. */
  readonly standsIn?: boolean;
  /** Its business day may end at any time: what is of an earlier one is not reversed (57), and no duplicate. */
  readonly cutsOver?: boolean;
}

const PLAIN = {
  duplicatesBy: 'DE7, DE11 and DE41',
  onDuplicate: 'repeats its response',
  originalsBy: 'DE90 and DE41',
  onReversed: '00',
  reversesRefunds: true,
} as const;

export const BEHAVIOURS = {
  plain: { ...PLAIN, name: 'plain', doubles: true },
  /** Reads processors/type-1/README.md: 127.2 identifies a message, 127.11 names a sale. */
  keyed: {
    ...PLAIN,
    name: '127.2 identifies',
    duplicatesBy: '127.2',
    originalsBy: '127.11',
    refundsNamedSale: true,
    doubles: true,
  },
  numbered: {
    ...PLAIN,
    name: 'DE11 and DE41 identify',
    duplicatesBy: 'DE11 and DE41',
    onDuplicate: 'says 94',
    comparesReversals: true,
    originalsBy: 'DE11 and DE41',
    onReversed: '94',
    doubles: true,
  },
  referenced: {
    ...PLAIN,
    name: 'DE37 identifies',
    duplicatesBy: 'DE37',
    onDuplicate: 'says 94',
    originalsBy: 'DE37',
    onReversed: '57',
    doubles: true,
  },
  /** Reverses the first match, at whichever terminal. */
  elements: {
    ...PLAIN,
    name: 'DE90 identifies',
    duplicatesBy: 'DE90',
    onDuplicate: 'says 94',
    originalsBy: 'DE90',
    onReversed: '25',
    doubles: true,
  },
  /** Books a doubled request twice, and reverses the first of them. */
  careless: { ...PLAIN, name: 'nothing identifies', duplicatesBy: null, doubles: true },
  oneWay: {
    ...PLAIN,
    name: 'refunds are final',
    onDuplicate: 'says 94',
    reversesRefunds: false,
    troubles: ['06', '96'],
    doubles: true,
  },
  troubled: { ...PLAIN, name: 'trouble', troubles: ['06', '09', '19', '20', '22', '28', '29', '95', '96'] },
  standIn: { ...PLAIN, name: 'approves for the issuer', standsIn: true },
  cutOver: { ...PLAIN, name: 'cuts over', cutsOver: true, onReversed: '57' },
} as const satisfies Readonly<Record<string, Behaviour>>;
