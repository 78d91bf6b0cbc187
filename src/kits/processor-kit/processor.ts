import type { z } from 'zod';
import type { Framing } from '../../codecs/iso8583/network/framing.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import type { IsoMessage } from './iso-fields.ts';
import type { KeyChange } from './key-change.ts';
import type { MacRule } from './mac-rule.ts';
import type { NetworkCodes, ProcessorProfile } from './profile.ts';
import type {
  LocalStamp,
  MessageStamp,
  OriginalData,
  PinData,
  Purchase,
  Refund,
  Reversal,
  Terminal,
} from './purchase.ts';
import type { RequestRule } from './request-rules.ts';
import type { SwitchConfig } from './switch-config.ts';

/**
 * The contract between Tapwire and a processor type: one folder whose default export is `defineProcessor({ ... })`.
 *
 * A processor is pure and stateless. It takes values (a purchase, a response) and returns values (a message, an
 * outcome). Sockets, clocks, counters, keys and storage belong to the gateway. It responds to four questions:
 *
 *   how bytes look      `codec` (the field table, compiled), `framing` (what precedes a message), `match` (what pairs a response)
 *   what is sent        `authorization`, `reversal`, `refund`, `networkRequest`, `respondToSwitchRequest`
 *   what a reply means  `readOutcome`: approved, declined, pinRequired or unknown; never a guess
 *   how the switch acts `profile` (data, not code), `readRequest` and `simulate` (the switch's side, for tests and
 *   load)
 */

export type { Framing, TransportHeader } from '../../codecs/iso8583/network/framing.ts';
export type { LengthHeaderName } from '../../codecs/iso8583/network/length-headers.ts';

export type { KeyChange, WorkingKeyUse, WrappedKey } from './key-change.ts';

export type { NetworkCodes, PinRequiredCode, ProcessorProfile, ResponseCodes, ReversalProfile } from './profile.ts';
export type * from './purchase.ts';

export type { SwitchConfig } from './switch-config.ts';

/**
 * Names of the fields whose values pair a response with its request, per message class (second digit of the MTI): `{
 * '2': ['stan', 'tid', 'transmissionDateTime'] }`. A response that lacks one of them is reported with what is missing.
 */
export type MatchFields = Readonly<Record<string, readonly string[]>>;

/**
 * The codec of a dialect; `compileSpec` of the kit makes one from a spec.
 *
 * @example
 * const codec: MessageCodec<AcmeMessage> = compileSpec(spec);
 * const bytes = new Uint8Array(framing.maxFrameBytes);
 * const end = codec.encode({ mti: '0800', stan: '000001', networkCode: '301' }, bytes, 0);
 * codec.decode(bytes, 0, end).networkCode; // '301'
 */
export interface MessageCodec<Message extends IsoMessage = IsoMessage> {
  /**
   * The field table according to which messages are masked and kept for people. If a codec has none, only the lengths
   * of its messages are kept.
   */
  readonly spec?: Spec | undefined;
  /**
   * Writes `message` into `target` from `offset`; returns the end offset.
   * @throws Iso8583Error if a value does not fit its field, or the message does not fit the target.
   */
  encode(message: Message, target: Uint8Array, offset: number): number;
  /** @throws Iso8583Error with the field and the byte offset; never with the bytes. */
  decode(bytes: Uint8Array, start?: number, end?: number): Message;
}

/** Only switches send `cutOver`. */
export type NetworkRequestKind = 'signOn' | 'signOff' | 'echo' | 'cutOver';

/**
 * A processor type: the dialect and the behaviour of one kind of switch.
 *
 * @example
 * const processor: Processor = acme; // the default export of processors/acme
 * const message = processor.authorization(purchase, processor.exampleConfig);
 * const outcome = processor.readOutcome(processor.simulate(message, { responseCode: '51' }), message);
 * outcome.kind; // 'declined'
 */
export interface Processor<Config extends SwitchConfig = SwitchConfig, Message extends IsoMessage = IsoMessage> {
  /**
   * The name of the folder, which must not change because the database stores it. Lower case, digits, hyphens; at
   * most 32 characters.
   */
  readonly type: string;
  /** The version of the kit that it was written for (`PROCESSOR_KIT`). */
  readonly kit: number;
  /** Name for people: `Type 1 (ISO 8583:1987, ASCII)`. */
  readonly name: string;
  /** Validates the configuration of one switch; extends `switchConfig` of the kit. */
  readonly configSchema: z.ZodType<Config>;
  /** A valid configuration, used by the simulator, the samples and the conformance suite. */
  readonly exampleConfig: Config;
  /** The field table, for people and tools: `tapwire decode --spec <type>`. */
  readonly spec: Spec;
  readonly framing: Framing;
  readonly match: MatchFields;
  readonly profile: ProcessorProfile;
  /** Present if messages can carry a MAC; they do if the configuration has `macKeys`. */
  readonly mac?: MacRule<Message> | undefined;

  /**
   * Present if the dialect can change working keys while traffic runs; it does if the configuration has
   * `keyExchange`.
   */
  readonly keyChange?: KeyChange<Config, Message> | undefined;

  /** Present if a switch of this type can require completions before it posts approvals. */
  readonly completion?: CompletionAdvice<Config, Message> | undefined;

  /**
   * The codec of the dialect that `config` selects. Returns the same codec for the same dialect: nothing is compiled
   * per call.
   */
  codec(config: Config): MessageCodec<Message>;

  authorization(purchase: Purchase, config: Config): Message;
  /** Verifies the card for a debit order mandate without taking money: amount zero if the switch requires it. */
  mandateAuthorization?(purchase: Purchase, config: Config): Message;
  refund?(refund: Refund, config: Config): Message;
  /**
   * The fields that a later reversal or refund must repeat, as text. `readOutcome` also reads a late response with
   * them: `mti` and the fields of `profile.echoed`. PAN and expiry are included, so the gateway seals the whole value.
   */
  originalData(request: Message): OriginalData;
  reversal(reversal: Reversal, config: Config): Message;
  /** True if `readReversalResponse` is `acknowledged` or `unableToLocate`. */
  isReversalAcknowledged(response: Message): boolean;
  readReversalResponse(response: Message): ReversalResponse;

  /** The meaning of the response. Returns an outcome for every response, and never throws. */
  readOutcome(response: Message, request: Message): Outcome;

  /** A network management request; undefined if the switch does not support this kind. */
  networkRequest(kind: NetworkRequestKind, stamp: MessageStamp, config: Config): Message | undefined;
  isNetworkAccepted(response: Message): boolean;
  /** The response to a request that the switch initiates (echo, cut-over); undefined if no response is sent. */
  respondToSwitchRequest(request: Message, config: Config): Message | undefined;

  /** The merchant's identity at this switch, shown to integrators in `paymentProviderId`. */
  providerId(config: Config, terminal: Terminal): Readonly<Record<string, string>>;
  /** Values of the response with which integrators reconcile, in `paymentProviderFields`. Text, never card data. */
  providerFields(response: Message): Readonly<Record<string, string>>;

  /** Simulation: what the switch requires of requests; `readRequest` names what a request breaks (request-rules.ts). */
  readonly requestRules?: readonly RequestRule<Message>[] | undefined;
  /** Simulation: the content of a request, in terms that every scenario understands. */
  readRequest(request: Message): SimulatedRequest;
  /** Simulation: the response of the switch. */
  simulate(request: Message, response: SimulatedResponse): Message;
  readonly samples: readonly ProcessorSample[];
}

/** What a plug-in writes; `defineProcessor` adds the rest. */
export type ProcessorDefinition<Config extends SwitchConfig, Message extends IsoMessage> = Omit<
  Processor<Config, Message>,
  'isReversalAcknowledged'
>;

/** Values of every outcome, if the response has them. */
export interface OutcomeFacts {
  /**
   * DE39 in the codes of 7.5 of the interface, two characters and not always digits; a code without a meaning there as
   * the switch sent it. Empty if the response has none.
   */
  readonly responseCode: string;
  /** The authorization code, DE38. */
  readonly authorizationCode?: string | undefined;
  /** DE37 as the switch returned it. */
  readonly rrn?: string | undefined;
  /** Tags 91, 71, 72, 8A for the card, as hex. */
  readonly cardTags: readonly CardTag[];
  readonly cardType?: string | undefined;
}

export interface CardTag {
  readonly tag: string;
  readonly value: string;
}

/**
 * What a response means. `unknown` is everything a processor cannot stand behind: a code in no table, a response that
 * does not belong to the request, an echoed field that differs. The gateway reverses an unknown; it is never an approval.
 *
 * @example
 * const outcome = processor.readOutcome(response, request);
 * if (outcome.kind === 'approved') outcome.approvedMinor; // 1234
 * if (outcome.kind === 'unknown') outcome.why; // 'amount differs from the request'
 */
export type Outcome = OutcomeFacts &
  (
    | { readonly kind: 'approved'; readonly approvedMinor: number }
    /** `needsReview`: the switch may hold another transaction under our numbers (94); a person has to look. */
    | { readonly kind: 'declined'; readonly needsReview?: boolean | undefined }
    | { readonly kind: 'pinRequired' }
    | { readonly kind: 'unknown'; readonly why: string }
  );

/**
 * What the response to a reversal means. The gateway decides by all responses to a reversal, not by one alone.
 *
 * - `acknowledged`: the switch has taken the reversal over.
 * - `unableToLocate`: it found no original, or took no action. After a timeout that is an acknowledgement worth one more
 *   repeat, because the original may still be on its way. For a void it is a refusal.
 * - `duplicate`: it has had the message before. That acknowledges a repeat with the STAN of an earlier attempt, and not
 *   of the original, if no response to that attempt was received. Otherwise the reversal needs review.
 * - `refused`: it understood the reversal and will not do it. Final, if it says so twice.
 * - `undecided`: the switch or the issuer is in trouble, or the code is unknown. The reversal may have taken effect.
 *
 * @example
 * const readReversalResponse = ({ mti, responseCode = '' }: AcmeMessage): ReversalResponse =>
 *   mti === '0410' ? classifyReversalResponse(profile.reversal, responseCode) : 'undecided';
 */
export type ReversalResponse = 'acknowledged' | 'unableToLocate' | 'duplicate' | 'refused' | 'undecided';

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
  /** The chip data of a payment (DE55) as TLV, for an issuer that verifies them; undefined if it has none. */
  readonly chip?: (() => Uint8Array | undefined) | undefined;
  /** Identifies the transaction: a later reversal names it in `originalKey`. */
  readonly key: string;
  /** Key of the original; for a reversal or a completion. */
  readonly originalKey?: string | undefined;
  /** Whether the message is marked as a repeat; for a reversal or a completion. */
  readonly isRepeat?: boolean | undefined;
  /** Kind of a network message. */
  readonly network?: keyof NetworkCodes | undefined;
  /** Names of mandatory fields that are missing or malformed: the switch responds with 30. */
  readonly faults: readonly string[];
}

/**
 * The response that a scenario specifies. The processor encodes it in its dialect.
 *
 * @example
 * const approval: SimulatedResponse = { responseCode: '00', authorizationCode: '831042' };
 * const response = processor.simulate(request, approval);
 */
export interface SimulatedResponse {
  /** A code of 7.5 of the interface; a processor whose switch has other codes translates it. */
  readonly responseCode: string;
  /**
   * Respond with the code with which the card's scheme requests a PIN, issuer flag included, instead of `responseCode`.
   */
  readonly asksForPin?: boolean | undefined;
  readonly authorizationCode?: string | undefined;
  /** DE4 of the response if it differs from the request: for a partial approval, or for a scenario. */
  readonly amountMinor?: number | undefined;
  /** The business day of the switch, YYYYMMDD. Default: the date of the request, as in samples. */
  readonly settlementDate?: string | undefined;
  /** Respond with another STAN than the request's (DE11), which no request on the connection has. */
  readonly isOtherStan?: boolean | undefined;
  /** Issuer authentication data (tag 91) for a code of two bytes. Default: data that no issuer has signed. */
  readonly authenticationData?: ((responseCode: Uint8Array) => Uint8Array) | undefined;
  /** Scripts for the card, tags 71 and 72. */
  readonly scripts?: readonly CardTag[] | undefined;
}

/**
 * One message of a dialect with its bytes, checked both ways by the conformance suite.
 *
 * @example
 * export const samples: readonly ProcessorSample[] = [
 *   { name: 'tap', message: authorization(TAP, exampleConfig), wireHex: '30313030...' },
 *   { name: 'approved', message: simulate(tap, APPROVED), wireHex: '30313130...', request: 'tap', outcome: 'approved' },
 * ];
 */
export interface ProcessorSample {
  readonly name: string;
  readonly message: IsoMessage;
  /** The configuration of its dialect, if it differs from `exampleConfig`. */
  readonly config?: SwitchConfig | undefined;
  /** The message's bytes without header, hex. */
  readonly wireHex: string;
  /** For a response: the name of the sample to which it responds, and the outcome that `readOutcome` gives for the two. */
  readonly request?: string | undefined;
  readonly outcome?: Outcome['kind'] | undefined;
}

/** The advice that an approved authorization must be posted. */
export interface Completion extends LocalStamp {
  /** The original data of the authorization. */
  readonly original: OriginalData;
  /** The approved amount: less than the requested one after a partial approval. */
  readonly amountMinor: number;
  /** DE38 of the approval. */
  readonly authorizationCode?: string | undefined;
  /** Number of the attempt, from 1; later ones are repeats. */
  readonly attempt: number;
}

/**
 * How a switch with two messages learns that an approval must be posted: an advice, repeated on the schedule of
 * reversals until it is accepted (ISO 8583:1987 4.4: an advice cannot be declined).
 *
 * @example
 * export const completion: CompletionAdvice<AcmeConfig, AcmeMessage> = {
 *   isWanted: ({ needsCompletion }) => needsCompletion,
 *   build: ({ original, attempt }) => ({ ...original, mti: attempt === 1 ? '0220' : '0221' }),
 *   isAcknowledged: ({ mti, responseCode }) => mti === '0230' && responseCode === '00',
 * };
 */
export interface CompletionAdvice<Config extends SwitchConfig = SwitchConfig, Message extends IsoMessage = IsoMessage> {
  /** Whether this switch requires it; otherwise an approved authorization posts automatically. */
  isWanted(config: Config): boolean;
  build(completion: Completion, config: Config): Message;
  isAcknowledged(response: Message): boolean;
}
