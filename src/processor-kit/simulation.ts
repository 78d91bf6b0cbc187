import type { IsoMessage } from './iso-message.ts';
import type { Outcome } from './outcome.ts';
import type { NetworkCodes } from './profile.ts';
import type { PinData } from './purchase.ts';
import type { SwitchConfig } from './switch-config.ts';

/** What the simulated switch reads from a request, whatever the dialect. */
export interface SimulatedRequest {
  readonly kind: 'authorization' | 'completion' | 'reversal' | 'refund' | 'network' | 'unsupported';
  readonly amountMinor: number;
  readonly currencyNumeric: string;
  readonly stan: string;
  readonly rrn: string;
  readonly tid: string;
  /** The card, so that wrong PINs can be counted; never printed. Empty when the request names none. */
  readonly pan: string;
  readonly pin?: PinData | undefined;
  /** Names the transaction: what a later reversal gives as `originalKey`. */
  readonly key: string;
  /** Of a reversal or a completion: the key of what it is about. */
  readonly originalKey?: string | undefined;
  /** Of a reversal or a completion: whether it says that it is a repeat. */
  readonly isRepeat?: boolean | undefined;
  /** Of a network message: what it asks. */
  readonly network?: keyof NetworkCodes | undefined;
  /** Mandatory fields that are missing or malformed, by name: answered with 30. */
  readonly faults: readonly string[];
}

/** What a scenario wants answered. The processor turns it into its dialect. */
export interface SimulatedAnswer {
  readonly responseCode: string;
  /** Answer with the code by which the card's scheme asks for a PIN, issuer flag included, instead of `responseCode`. */
  readonly asksForPin?: boolean | undefined;
  readonly authorizationCode?: string | undefined;
  /** DE4 of the response where it differs from the request: a partial approval, or a scenario. */
  readonly amountMinor?: number | undefined;
  /** Answer under another STAN than the request's (DE11), which no request of the line has. */
  readonly isOtherStan?: boolean | undefined;
}

/** One message of a dialect with its bytes, checked both ways by the conformance suite. */
export interface ProcessorSample {
  readonly name: string;
  readonly message: IsoMessage;
  /** The dialect it is written in, when that is not the one of `exampleConfig`. */
  readonly config?: SwitchConfig | undefined;
  /** The message's bytes without header, hex. */
  readonly wireHex: string;
  /** For a response: the name of the sample it answers, and what `readOutcome` makes of the two. */
  readonly request?: string | undefined;
  readonly outcome?: Outcome['kind'] | undefined;
}
