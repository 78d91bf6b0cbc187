/**
 * The behaviour of the simulated switch, selected by the amount, so that any client can control it. Amounts are in
 * minor units, read as hundredths for every currency. A specific row takes precedence over the rule that the last
 * two digits are the response code.
 */
export type Scenario =
  /** Responds at once with this code; 00 approves. */
  | { readonly kind: 'answer'; readonly responseCode: string }
  /** Requests a PIN if the request has no PIN; otherwise the PIN decides. */
  | { readonly kind: 'pin' }
  | { readonly kind: 'silence' }
  /** Approves after the deadline of the acquirer. */
  | { readonly kind: 'late' }
  /** Approves after this time, multiplied by `timeScale`. */
  | { readonly kind: 'slow'; readonly afterMs: number }
  /** Approves, and responds with a frame that is not a message. */
  | { readonly kind: 'garbage' }
  /** Approves, writes half of the response and closes the connection. */
  | { readonly kind: 'disconnect' }
  /** Approves and responds twice. */
  | { readonly kind: 'duplicate' }
  /** Approves, then leaves this many reversals unanswered. */
  | { readonly kind: 'deafToReversals'; readonly times: number }
  | { readonly kind: 'otherAmount' }
  | { readonly kind: 'otherStan' }
  | { readonly kind: 'badMac' }
  /** Approves this part of the amount; half of it by default, or if the part is not smaller than the amount. */
  | { readonly kind: 'partial'; readonly approvedMinor?: number | undefined }
  /** Approves, closes every connection and refuses new ones for this time, multiplied by `timeScale`. */
  | { readonly kind: 'outage'; readonly forMs: number };

const APPROVED: Scenario = { kind: 'answer', responseCode: '00' };

/** Amounts with a meaning of their own. */
const BY_AMOUNT: ReadonlyMap<number, Scenario> = new Map<number, Scenario>([
  [50_05, { kind: 'pin' }],
  [10_10, { kind: 'slow', afterMs: 10_000 }],
  [20_20, { kind: 'slow', afterMs: 20_000 }],
  [30_30, { kind: 'slow', afterMs: 30_000 }],
  [503_00, { kind: 'outage', forMs: 10_000 }],
]);

/** Last two digits that are not a plain response code. */
const BY_CENTS: ReadonlyMap<number, Scenario> = new Map<number, Scenario>([
  [0, APPROVED],
  [65, { kind: 'pin' }],
  [68, { kind: 'late' }],
  [69, { kind: 'silence' }],
  [85, { kind: 'partial' }],
  [86, { kind: 'badMac' }],
  [87, { kind: 'otherStan' }],
  [88, { kind: 'otherAmount' }],
  [89, { kind: 'deafToReversals', times: 2 }],
  [97, { kind: 'garbage' }],
  [98, { kind: 'disconnect' }],
  [99, { kind: 'duplicate' }],
]);

/** Every other ending is its own response code: 10.51 gets the response 51. Built once instead of per request. */
const BY_CODE: readonly Scenario[] = Array.from({ length: 100 }, (_, cents) => ({
  kind: 'answer',
  responseCode: String(cents).padStart(2, '0'),
}));

export function scenarioOf(amountMinor: number): Scenario {
  const cents = amountMinor % 100;
  return BY_AMOUNT.get(amountMinor) ?? BY_CENTS.get(cents) ?? BY_CODE[cents] ?? APPROVED;
}
