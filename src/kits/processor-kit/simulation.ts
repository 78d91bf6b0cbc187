import type { IsoMessage } from './iso-message.ts';
import type { Outcome } from './outcome.ts';
import type { NetworkCodes } from './profile.ts';
import type { PinData } from './purchase.ts';
import type { SwitchConfig } from './switch-config.ts';

/** What the simulated switch reads from a request, in any dialect. */
export interface SimulatedRequest {
  readonly kind: 'authorization' | 'completion' | 'reversal' | 'refund' | 'network' | 'unsupported';
  readonly amountMinor: number;
  readonly currencyNumeric: string;
  readonly stan: string;
  readonly rrn: string;
  readonly tid: string;
  /** The PAN, so that wrong PINs can be counted; never printed. Empty if the request names none. */
  readonly pan: string;
  readonly pin?: PinData | undefined;
  /** Identifies the transaction: a later reversal names it in `originalKey`. */
  readonly key: string;
  /** Key of the original; for a reversal or a completion. */
  readonly originalKey?: string | undefined;
  /** Whether the message is marked as a repeat; for a reversal or a completion. */
  readonly isRepeat?: boolean | undefined;
  /** Kind of a network message. */
  readonly network?: keyof NetworkCodes | undefined;
  /** Names of mandatory fields that are missing or malformed: answered with 30. */
  readonly faults: readonly string[];
}

/** The response that a scenario specifies. The processor encodes it in its dialect. */
export interface SimulatedAnswer {
  /** A code of 7.5 of the interface; a processor whose switch has other codes translates it. */
  readonly responseCode: string;
  /**
   * Answer with the code with which the card's scheme requests a PIN, issuer flag included, instead of `responseCode`.
   */
  readonly asksForPin?: boolean | undefined;
  readonly authorizationCode?: string | undefined;
  /** DE4 of the response if it differs from the request: for a partial approval, or for a scenario. */
  readonly amountMinor?: number | undefined;
  /** The business day of the switch, YYYYMMDD. Default: the date of the request, as in samples. */
  readonly settlementDate?: string | undefined;
  /** Answer with another STAN than the request's (DE11), which no request on the connection has. */
  readonly isOtherStan?: boolean | undefined;
}

/** One message of a dialect with its bytes, checked both ways by the conformance suite. */
export interface ProcessorSample {
  readonly name: string;
  readonly message: IsoMessage;
  /** The configuration of its dialect, if it differs from `exampleConfig`. */
  readonly config?: SwitchConfig | undefined;
  /** The message's bytes without header, hex. */
  readonly wireHex: string;
  /** For a response: the name of the sample that it answers, and the outcome that `readOutcome` gives for the two. */
  readonly request?: string | undefined;
  readonly outcome?: Outcome['kind'] | undefined;
}
