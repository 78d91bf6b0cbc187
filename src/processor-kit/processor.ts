import type { z } from 'zod';

/**
 * The contract between Tapwire and a processor type: one folder whose default export is `defineProcessor({ ... })`.
 *
 * A processor is pure and stateless. It is handed values (a purchase, a response) and gives values (a message, an
 * outcome); sockets, clocks, counters, keys and storage belong to the gateway. It answers four questions:
 *
 *   how bytes look      `spec` (the field table), `framing` (the header), `match` (which fields pair a response)
 *   what is sent        `authorization`, `reversal`, `signOn`, `signOff`, `echo`
 *   what was answered   `readOutcome`: approved, declined, pinRequired or unknown; never a guess
 *   how the switch acts `profile` (data, not code) and `simulate` (the switch's side, for tests and load)
 */

/** A decoded ISO 8583 message: fields by name, text or bytes, composites nested. Its spec gives the exact type. */
export type IsoMessage = { mti: string } & Record<string, unknown>;

/** An amount as the switch is told it. `amountMinor` is an integer of at most 12 digits. */
export interface Amount {
  readonly amountMinor: number;
  /** ISO 4217 letters, `ZAR`. */
  readonly currency: string;
  /** ISO 4217 digits, `710`: what DE49 carries. */
  readonly currencyNumeric: string;
}

/** The card as read from the chip. Never logged: the gateway holds it in memory only. */
export interface Card {
  readonly pan: string;
  /** Track 2 equivalent data with separator `D`, at most 37 digits; absent when the reader sent 5A and 5F24 instead. */
  readonly track2?: string | undefined;
  /** YYMM, the order of DE14. */
  readonly expiry: string;
  /** Application PAN sequence number as n3 for DE23; absent when the card has none. */
  readonly panSequence?: string | undefined;
  readonly scheme: string;
}

/** The chip's data objects by tag, as the reader sent them (EMV Book 3 Annex A). */
export interface ChipData {
  value(tag: number): Uint8Array | undefined;
}

export interface Terminal {
  /** DE41, at most 8 characters. */
  readonly tid: string;
  /** DE42, at most 15 characters. */
  readonly mid: string;
  readonly canTakePin: boolean;
}

export interface Merchant {
  readonly name: string;
  readonly city: string;
  /** ISO 3166 two letters. */
  readonly country: string;
  /** Merchant category code, n4. */
  readonly mcc: string;
}

/** One attempt to authorize a tap, complete: nothing else may influence the message. */
export interface Purchase {
  /** Systems trace audit number, n6. */
  readonly stan: string;
  /** Retrieval reference number, an12. */
  readonly rrn: string;
  /** Milliseconds since 1970, UTC: DE7. */
  readonly sentAtMs: number;
  /** `YYYYMMDDHHmmss` on the terminal's wall clock: DE12 and DE13. */
  readonly localDateTime: string;
  readonly amount: Amount;
  readonly card: Card;
  readonly chip: ChipData;
  readonly terminal: Terminal;
  readonly merchant: Merchant;
}

/** Why a reversal is sent: DE56 of type 1, DE39 of others. */
export type ReversalReason = 'timeout' | 'unusable-response' | 'void' | 'late-approval';

/** What a reversal repeats of its original, kept sealed by the gateway from the moment the original was built. */
export type OriginalData = Readonly<Record<string, string>>;

export interface Reversal {
  readonly original: OriginalData;
  readonly reason: ReversalReason;
  /** Attempt number, from 1: the first is the plain reversal, later ones are repeats. */
  readonly attempt: number;
  /** The reversal's own STAN: the original's again when the profile says `keepsStan`. */
  readonly stan: string;
  readonly sentAtMs: number;
  readonly localDateTime: string;
  /** DE38 of an approval that came after the deadline and before the first attempt. */
  readonly authorizationCode?: string | undefined;
}

/** Values that every outcome carries, as far as the response had them. */
export interface OutcomeFacts {
  /** DE39, two characters and not always digits. Empty when the response had none. */
  readonly responseCode: string;
  /** DE38. */
  readonly authorizationCode?: string | undefined;
  /** DE37 as the switch answered it. */
  readonly rrn?: string | undefined;
  /** Tags 91, 71, 72, 8A for the card, as hex. */
  readonly cardTags: readonly { readonly tag: string; readonly value: string }[];
  readonly cardType?: string | undefined;
}

/**
 * What a response means. `unknown` is everything a processor cannot stand behind: a code in no table, a response that
 * does not belong to the request, an echoed field that differs. The gateway reverses an unknown; it is never an approval.
 */
export type Outcome = OutcomeFacts &
  (
    | { readonly kind: 'approved'; readonly approvedMinor: number }
    | { readonly kind: 'declined' }
    | { readonly kind: 'pinRequired' }
    | { readonly kind: 'unknown'; readonly why: string }
  );

export interface Framing {
  /** Length of the big-endian length header in bytes. */
  readonly lengthBytes: 2 | 4;
  /** Whether the length counts the header itself. */
  readonly lengthIncludesHeader: boolean;
  /** Bytes between the length and the message that belong to the transport (a TPDU); sent as given, answered swapped. */
  readonly transportHeader?: Uint8Array | undefined;
  /** The longest frame the switch may send, in bytes without the header: the connection is closed above it. */
  readonly maxFrameBytes: number;
}

/** The fields, by name, whose values pair a response with its request, per message class (second digit of the MTI). */
export type MatchFields = Readonly<Record<string, readonly string[]>>;

export interface ReversalProfile {
  readonly keepsStan: boolean;
  /** Seconds before attempt 2, 3, …; the last delay repeats until `giveUpAfterSeconds`. */
  readonly delaysSeconds: readonly number[];
  readonly giveUpAfterSeconds: number;
}

/** How a switch behaves: data, so that two switches of one type differ by configuration. */
export interface ProcessorProfile {
  /** From the write to the last moment an answer counts, in milliseconds. */
  readonly deadlineMs: number;
  readonly maxInFlight: number;
  /** An echo is sent after this silence. */
  readonly idleEchoMs: number;
  readonly partialApproval: boolean;
  readonly reversal: ReversalProfile;
}

/** The switch's own side in a simulation: what a scenario makes of a request. */
export interface SimulatedAnswer {
  readonly responseCode: string;
  readonly authorizationCode?: string | undefined;
  /** Fields to set on the response after it was built, by name: another STAN, another amount. */
  readonly overrides?: Readonly<Record<string, unknown>> | undefined;
}

/** What the simulator reads from a request, whatever the dialect. */
export interface SimulatedRequest {
  readonly kind: 'authorization' | 'reversal' | 'refund' | 'network' | 'unknown';
  readonly amountMinor: number;
  readonly stan: string;
  readonly rrn: string;
  readonly tid: string;
  readonly hasPin: boolean;
  /** For a reversal: the STAN and transmission time of the original, joined by the dialect's own rule. */
  readonly originalKey?: string | undefined;
  /** For an authorization: the key a later reversal will name. */
  readonly key: string;
  /** Mandatory fields that are missing or malformed, by name: answered with 30. */
  readonly faults: readonly string[];
}

export interface ProcessorSample {
  readonly name: string;
  readonly message: IsoMessage;
  /** The message's bytes without header, hex. */
  readonly wireHex: string;
  /** For responses: what `readOutcome` makes of it with the sample named `request`. */
  readonly outcome?: Outcome['kind'] | undefined;
  readonly request?: string | undefined;
}

/** What a codec compiled from a spec can do; `compileSpec` of the kit gives one. */
export interface MessageCodec<Message extends IsoMessage = IsoMessage> {
  /** Writes `message` into `target` from `offset`; gives the end offset. */
  encode(message: Message, target: Uint8Array, offset: number): number;
  decode(bytes: Uint8Array, start?: number, end?: number): Message;
}

export interface Processor<Config = unknown, Message extends IsoMessage = IsoMessage> {
  /** The folder's name, stable: it stands in the database. */
  readonly type: string;
  readonly name: string;
  readonly configSchema: z.ZodType<Config>;
  readonly codec: MessageCodec<Message>;
  readonly framing: Framing;
  readonly match: MatchFields;
  readonly profile: ProcessorProfile;
  authorization(purchase: Purchase, config: Config): Message;
  /** What a later reversal or refund must repeat, as text. PAN and expiry included: the gateway seals it whole. */
  originalData(request: Message): OriginalData;
  reversal(reversal: Reversal, config: Config): Message;
  /** The switch took the reversal over: an acknowledgement, whatever else the response says. */
  isReversalAcknowledged(response: Message): boolean;
  readOutcome(response: Message, request: Message): Outcome;
  signOn?(stan: string, sentAtMs: number, config: Config): Message;
  signOff?(stan: string, sentAtMs: number, config: Config): Message;
  echo?(stan: string, sentAtMs: number, config: Config): Message;
  /** A network management response that says yes. */
  isNetworkAccepted?(response: Message): boolean;
  /** The answer to a request that the switch sends by itself (echo, cut-over); undefined when there is none. */
  answerSwitchRequest?(request: Message): Message | undefined;
  providerId(config: Config, terminal: Terminal): Readonly<Record<string, string>>;
  providerFields(response: Message): Readonly<Record<string, string>>;
  /** Whether a message is a response, by its MTI. */
  isResponse(message: Message): boolean;
  /** Simulation: what the request asks for, in terms any scenario understands. */
  readRequest(request: Message): SimulatedRequest;
  /** Simulation: the response of the switch. */
  simulate(request: Message, answer: SimulatedAnswer): Message;
  readonly samples: readonly ProcessorSample[];
}
