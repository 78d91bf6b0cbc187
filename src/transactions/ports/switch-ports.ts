import type {
  Completion,
  OriginalData,
  Outcome,
  PinData,
  Purchase,
  Refund,
  Reversal,
  ReversalAnswer,
  Terminal,
} from '../../processor-kit/processor.ts';
import type { ProcessorProfile } from '../../processor-kit/profile.ts';
import type { ProviderValues, TransactionKey } from '../model/transaction.ts';
import type { EnteredPin } from './pin-ports.ts';

/** What became of a request to a switch, and the connection that carried it. `written`: whether a byte may have left. */
export type SwitchAnswer<Value> = { readonly connectionId: string } & (
  | { readonly kind: 'answered'; readonly value: Value }
  | { readonly kind: 'garbled' }
  | { readonly kind: 'failed'; readonly written: boolean; readonly reason: string }
);

/** What a switch made of a purchase, and what it told integrators besides. */
export interface PurchaseAnswer {
  readonly outcome: Outcome;
  /** DE15, MMDD; undefined when the response has none, or its MAC is not good. */
  readonly settlementDate?: string | undefined;
  readonly providerFields: ProviderValues;
}

/** A place on a signed-on connection, held before anything is committed as submitted. */
export interface SwitchSlot {
  authorize(request: PreparedRequest, timing: SendTiming, about: AttemptName): Promise<SwitchAnswer<PurchaseAnswer>>;
  reverse(reversal: Reversal, timing: SendTiming, about: AttemptName): Promise<SwitchAnswer<ReversalAnswer>>;
  /** Whether the switch has taken it: an approval is posted then. */
  complete(completion: Completion, timing: SendTiming, about: AttemptName): Promise<SwitchAnswer<boolean>>;
  release(): void;
}

/** Which attempt of a transaction a message belongs to, for those who look at messages afterwards. */
export interface AttemptName extends TransactionKey {
  readonly attempt: number;
}

/** On the monotonic clock: an answer counts until the one, nothing is written after the other. */
export interface SendTiming {
  readonly deadlineMs: number;
  readonly sendByMs: number;
}

/** A processor of an acquirer, wired to its connections. */
export interface Switch {
  readonly type: string;
  readonly profile: ProcessorProfile;
  /** Whether PINs can be enciphered for it. */
  readonly takesPin: boolean;
  /** Whether a connection is signed on, taken or not; otherwise one may be coming up, or none is. */
  readonly isSignedOn: boolean;
  /** Whether connections are signed on, but each of them is silent: another switch is better, if there is one. */
  readonly isSuspect: boolean;
  /** Whether connections are signed on, but all of them are taken: what came now would have to wait. */
  readonly isFull: boolean;
  /**
   * The next STAN within the scope that the profile names; undefined when the business day has none left.
   *
   * @param use `followUp`: for a reversal or completion of what was sent before; a reserve is kept for these
   */
  nextStan(tid: string, use?: 'followUp'): Promise<string | undefined>;
  /** Undefined when no connection is signed on, none is about to be, or all are full. */
  takeSlot(connectionId?: string): Promise<SwitchSlot | undefined>;
  /** Whether the connection still lives, signed on or not. */
  hasConnection(connectionId: string): boolean;
  /**
   * Builds the message and tries it on the codec, so that what cannot be sent is known before anything is committed.
   * @throws TapwireError when a value does not fit the switch's fields
   */
  prepare(purchase: Purchase): PreparedRequest;
  /** Whether it proves cards for mandates. */
  readonly takesMandates: boolean;
  /** The same for a mandate, which proves the card and takes no money; only where mandates are taken. */
  prepareMandate(purchase: Purchase): PreparedRequest;
  /** The same for a refund; undefined when the switch takes none. */
  prepareRefund(refund: Refund): PreparedRequest | undefined;
  /**
   * Enciphers a PIN anew, from the reader's key to the switch's, inside the HSM.
   * @throws PinUnusable when the block holds no PIN of this card, HsmUnavailable when the HSM does not answer in time
   */
  translatePin(pin: EnteredPin, pan: string): Promise<PinData>;
  /** Who the merchant is at this switch, for integrators. */
  providerId(terminal: Terminal): ProviderValues;
}

/** A request of one switch, ready to be written. */
export interface PreparedRequest {
  /** What a reversal must repeat of it. */
  readonly original: OriginalData;
  /** Whether its approval is posted only by a completion. */
  readonly wantsCompletion?: boolean | undefined;
}

export interface Switches {
  find(acquirerId: number, processorId: number): Switch | undefined;
}
