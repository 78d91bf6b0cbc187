import { Iso8583Error } from '../errors.ts';
import { pairingKey } from '../iso8583/message.ts';
import type { MacKeys } from './mac-rule.ts';
import { messageCodec } from './message-codec.ts';
import { answers, isResponse, messageClass } from './mti.ts';
import type { Framing, IsoMessage, NetworkRequestKind, Processor, SwitchConfig } from './processor.ts';
import { framingOf } from './switch-config.ts';

export interface SwitchProtocolOptions {
  /** STANs of network management messages, from the same numbers as those of transactions. */
  readonly nextStan: () => string;
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Needed when the configuration names MAC keys. */
  readonly macKeys?: MacKeys | undefined;
  /** Told of every request that the switch sends by itself, after it was answered: a cut-over matters to others, too. */
  readonly onSwitchRequest?: ((request: IsoMessage) => void) | undefined;
}

/** The part of a connection that session steps need. */
interface ExchangeLine {
  exchange(request: IsoMessage): Promise<IsoMessage>;
}

type SessionStep = (line: ExchangeLine) => Promise<boolean>;

/** What `openPool` takes, filled by a processor: see `SwitchProtocol` of the connection for what each part promises. */
export interface ProcessorProtocol {
  readonly framing: Framing;
  encode(message: IsoMessage, target: Uint8Array, offset: number): number;
  decode(bytes: Uint8Array, start: number, end: number): IsoMessage;
  isResponse(message: IsoMessage): boolean;
  requestKey(request: IsoMessage): string;
  responseKey(response: IsoMessage): string | undefined;
  missingKeyFields(response: IsoMessage): readonly string[];
  couldAnswer(response: IsoMessage, request: IsoMessage): boolean;
  salvage(error: unknown): IsoMessage | undefined;
  readonly signOn: SessionStep | undefined;
  readonly echo: SessionStep | undefined;
  readonly signOff: SessionStep | undefined;
  onRequest(request: IsoMessage, reply: (response: IsoMessage) => void): void;
}

/** A class that the processor pairs by nothing has no key: its responses are reported, never matched. */
const NO_FIELDS: readonly string[] = [];

/**
 * Adapts a processor to the protocol of a connection pool: how frames look, how messages are paired, what opens and
 * keeps a session, what the switch is answered when it asks.
 *
 * @throws ProcessorError `PROCESSOR_INVALID` when MAC keys are configured that the dialect or the gateway cannot serve
 */
export function switchProtocol(
  processor: Processor,
  config: SwitchConfig,
  options: SwitchProtocolOptions,
): ProcessorProtocol {
  const codec = messageCodec(processor, config, options.macKeys);
  const step = (kind: NetworkRequestKind) => sessionStep(kind, processor, config, options);
  const fieldsOf = (message: IsoMessage) => processor.match[messageClass(message)] ?? NO_FIELDS;
  return {
    framing: framingOf(processor, config),
    encode: (message, target, offset) => codec.encode(message, target, offset),
    decode: (bytes, start, end) => codec.decode(bytes, start, end),
    isResponse,
    requestKey: (request) => matchKey(request, fieldsOf(request)) ?? `${request.mti}|unpaired`,
    responseKey: (response) => matchKey(response, fieldsOf(response)),
    missingKeyFields: (response) => fieldsOf(response).filter((field) => response[field] === undefined),
    couldAnswer: (response, request) => couldAnswer(response, request, fieldsOf(request)),
    salvage: (error) => (error instanceof Iso8583Error ? (error.partial as IsoMessage | undefined) : undefined),
    signOn: config.signOn ? step('signOn') : undefined,
    echo: step('echo'),
    signOff: config.signOn ? step('signOff') : undefined,
    onRequest(request, reply) {
      const answer = processor.answerSwitchRequest(request, config);
      if (answer !== undefined) reply(answer);
      options.onSwitchRequest?.(request);
    },
  };
}

/** A class that is paired by no field has no keys: one for all its messages would pair strangers. */
function matchKey(message: IsoMessage, fields: readonly string[]): string | undefined {
  return fields.length === 0 ? undefined : pairingKey(message, fields);
}

/** A response may lack key fields, but not all of them, and none may differ. */
function couldAnswer(response: IsoMessage, request: IsoMessage, fields: readonly string[]): boolean {
  if (!answers(response, request)) return false;
  const present = fields.filter((field) => response[field] !== undefined);
  return present.length > 0 && present.every((field) => response[field] === request[field]);
}

function sessionStep(
  kind: NetworkRequestKind,
  processor: Processor,
  config: SwitchConfig,
  options: SwitchProtocolOptions,
): SessionStep | undefined {
  const request = () => processor.networkRequest(kind, { stan: options.nextStan(), sentAtMs: options.nowMs() }, config);
  if (processor.networkRequest(kind, { stan: '000001', sentAtMs: 0 }, config) === undefined) return undefined;
  return async (line) => processor.isNetworkAccepted(await line.exchange(request()!));
}
