import { ConnectionError, Iso8583Error, PlugInError } from '../../basics/errors.ts';
import { fromHex } from '../../codecs/bytes/hex.ts';
import { pairingKey } from '../../codecs/iso8583/message.ts';
import type { SessionConnection, SessionStep, SwitchProtocol } from '../../codecs/iso8583/network/switch-protocol.ts';
import { type IsoMessage, isResponse, isResponseTo, messageClass } from './iso-fields.ts';
import { messageCodec } from './message-codec.ts';
import { terminalScopeFault } from './message-identity.ts';
import type { Framing, MessageCodec, NetworkRequestKind, Processor, SwitchConfig } from './processor.ts';
import type { ProcessorProfile } from './profile.ts';

/**
 * The profile of one switch: the profile of its type, with the overrides of its configuration. If the type has changed
 * since the configuration was stored, two terminals may be able to share a reference although STANs are counted per
 * terminal: they are counted for the acquirer, which is stricter, so that the switch stays in use.
 */
export function profileOf<Config extends SwitchConfig>(processor: Processor<Config>, config: Config): ProcessorProfile {
  const { overtakingGuardSeconds, reversalDelaysSeconds, reversalGiveUpAfterSeconds, ...numbers } =
    config.profile ?? {};
  const schedule = { delaysSeconds: reversalDelaysSeconds, giveUpAfterSeconds: reversalGiveUpAfterSeconds };
  const { reversal } = processor.profile;
  const isTooNarrow = numbers.stanScope === 'terminal' && terminalScopeFault(processor, config) !== undefined;
  return {
    ...processor.profile,
    ...definedOnly(numbers),
    ...(isTooNarrow && { stanScope: 'acquirer' }),
    reversal: { ...reversal, ...definedOnly({ overtakingGuardSeconds, ...schedule }) },
  };
}

/**
 * The framing of one switch: the framing of its type, with the transport header of its configuration.
 *
 * @throws PlugInError `PLUG_IN_INVALID` if that header's length differs from the dialect's
 */
export function framingOf(processor: Pick<Processor, 'framing' | 'type'>, config: SwitchConfig): Framing {
  const { framing } = processor;
  const { transportHeader } = framing;
  const bytes = fromHex(config.transportHeader ?? '');
  if (config.transportHeader !== undefined && bytes.length !== (transportHeader?.bytes.length ?? 0)) {
    throw new PlugInError('PLUG_IN_INVALID', `${processor.type}: transportHeader must be as long as the dialect’s`);
  }
  return bytes.length === 0 ? framing : { ...framing, transportHeader: { ...transportHeader!, bytes } };
}

function definedOnly<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** A codec whose MACs are computed elsewhere, in an HSM. */
export interface SealingCodec extends MessageCodec {
  /**
   * Puts the MAC into a message, which `encode` then requires; absent if messages carry no MAC, or `encode` computes it.
   * Rejects if no MAC can be computed: the message must not be sent.
   */
  readonly seal?: ((message: IsoMessage) => Promise<void>) | undefined;
}

export interface SwitchProtocolOptions {
  /** STANs of network management messages, from the same sequence as those of transactions. */
  readonly nextStan: () => string;
  /** Wall clock, milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Required if the configuration names MAC keys. */
  readonly codec?: SealingCodec | undefined;
  /** Required if the configuration has `keyExchange`: handles key changes. */
  readonly keys?: KeyChangeSide | undefined;
  /**
   * Called for every request that the switch initiates, after its response was sent: a cut-over, for example, matters
   * to other parts.
   */
  readonly onSwitchRequest?: ((request: IsoMessage) => void) | undefined;
}

/** The part of a connection that session steps need. */
export type ExchangeConnection = SessionConnection<IsoMessage>;

/** The response to an announced key, and what to do when the response was written or could not be written. */
export interface KeyDecision {
  /** Undefined: there is no response, because it is not known whether the key was stored. The switch keeps it. */
  readonly responseCode: string | undefined;
  readonly whenResponded?: ((isSent: boolean) => void) | undefined;
}

/** The gateway's side of a key change (`key-change.ts` lists the steps). */
export interface KeyChangeSide {
  /**
   * Runs when a connection has signed on, before it is ready.
   * @param response the response to the sign-on; undefined if the switch has no sign-on
   * @returns whether the connection may be used
   */
  afterSignOn(line: ExchangeConnection, response: IsoMessage | undefined): Promise<boolean>;
  /** Accepts or refuses the key that the switch announces. */
  takeAnnouncement(announcement: IsoMessage, line: ExchangeConnection): Promise<KeyDecision>;
}

type Step = SessionStep<IsoMessage>;

type Steps = 'signOn' | 'echo' | 'signOff';

/** The protocol of a connection, implemented with a processor. A switch may lack a step of a session, and nothing else. */
export type ProcessorProtocol = Required<Omit<SwitchProtocol<IsoMessage>, Steps>> &
  Pick<SwitchProtocol<IsoMessage>, Steps>;

/** A class without key fields is not paired: its responses are reported, never matched. */
const NO_FIELDS: readonly string[] = [];

/**
 * Adapts a processor to the protocol of a connection pool: how frames look, how messages are paired, how a session is
 * opened and kept, and the responses to requests of the switch.
 *
 * @throws PlugInError `PLUG_IN_INVALID` if MAC keys are configured that the dialect or the gateway cannot serve
 */
export function switchProtocol(
  processor: Processor,
  config: SwitchConfig,
  options: SwitchProtocolOptions,
): ProcessorProtocol {
  const { keys } = options;
  const codec: SealingCodec = options.codec ?? messageCodec(processor, config);
  const replies = new SealedReplies(codec.seal);
  const sealed = sealedLines(codec, replies);
  const step = (kind: NetworkRequestKind) => sealed(sessionStep(kind, processor, config, options));
  const stanField = processor.spec.fields[11]?.name;
  const fieldsOf = (message: IsoMessage) => processor.match[messageClass(message)] ?? NO_FIELDS;
  return {
    framing: framingOf(processor, config),
    encode: (message, target, offset) => codec.encode(message, target, offset),
    decode: (bytes, start, end) => codec.decode(bytes, start, end),
    isResponse,
    requestKey: (request) => matchKey(request, fieldsOf(request)) ?? `${request.mti}|unpaired`,
    responseKey: (response) => matchKey(response, fieldsOf(response)),
    missingKeyFields: (response) => fieldsOf(response).filter((field) => response[field] === undefined),
    couldMatch: (response, request) => couldMatch(response, request, fieldsOf(request), stanField),
    salvage: (error) => (error instanceof Iso8583Error ? (error.partial as IsoMessage | undefined) : undefined),
    faultFields: (error, request) => ({
      ...(error instanceof Iso8583Error && { field: error.field, offset: error.offset }),
      ...(request && stanField && { stan: request[stanField] }),
    }),
    signOn: sealed(signOnStep(processor, config, options)),
    echo: step('echo'),
    signOff: config.signOn ? step('signOff') : undefined,
    async onRequest(request, write, line) {
      const reply = (response: IsoMessage) => replies.send(line, response, write);
      const asked = processor.readRequest(request).network;
      if (keys && processor.keyChange && asked === 'keyChange') return takeKey(request, reply, processor, keys, line);
      const response = processor.respondToSwitchRequest(request, config);
      const replied = response && reply(response);
      // The switch would decline requests on this connection until it is signed on again.
      if (asked === 'signOff') line.signOnAgain();
      try {
        await replied;
      } finally {
        options.onSwitchRequest?.(request);
      }
    },
  };
}

/** Gives the messages of a session step their MACs. A sign-on follows the reply to the sign-off that caused it. */
function sealedLines({ seal }: SealingCodec, replies: SealedReplies): (step: Step | undefined) => Step | undefined {
  if (seal === undefined) return (step) => step;
  const sealed = (request: IsoMessage) =>
    seal(request).catch(() => {
      throw new ConnectionError('NOT_SENT'); // the HSM's own failure is logged with its call
    });
  return (step) =>
    step &&
    ((line) =>
      step({
        connectionId: line.connectionId,
        exchange: async (request) => {
          await Promise.all([sealed(request), replies.lastOf(line)]);
          return line.exchange(request);
        },
      }));
}

async function takeKey(
  announcement: IsoMessage,
  reply: (response: IsoMessage) => Promise<void>,
  processor: Processor,
  keys: KeyChangeSide,
  line: ExchangeConnection,
): Promise<void> {
  const { responseCode, whenResponded } = await keys.takeAnnouncement(announcement, line);
  if (responseCode === undefined) return;
  let isSent = false;
  try {
    await reply(processor.keyChange!.response(announcement, responseCode));
    isSent = true;
  } finally {
    whenResponded?.(isSent);
  }
}

/** A class without key fields has no keys: one key for all its messages would pair unrelated messages. */
function matchKey(message: IsoMessage, fields: readonly string[]): string | undefined {
  return fields.length === 0 ? undefined : pairingKey(message, fields);
}

/**
 * A response may lack key fields, but not all of them, nor the STAN: a terminal has many requests, and the
 * acknowledgement of one reversal must not end another. The fields that it has must be equal.
 *
 * A 0430 without DE7 responds to the reversal that waits on its connection, also if the reversal keeps the STAN of its
 * sale. A response has the class of its request (ISO 8583:1987, message type identifier), so a 0430 cannot respond to a
 * sale. If a switch responds to the sale in this form and omits DE7, it acknowledges the reversal falsely, and no field
 * shows it. A gateway that refused each such 0430 could not end any reversal at a switch that omits DE7. An approval
 * that the switch sends afterwards re-arms the reversal (reversals/late-responses.ts). If no reversal waits, the
 * response must have another STAN than the sale (store/transactions/late-responses.ts).
 */
function couldMatch(
  response: IsoMessage,
  request: IsoMessage,
  fields: readonly string[],
  stanField: string | undefined,
): boolean {
  if (!isResponseTo(response, request)) return false;
  const present = fields.filter((field) => response[field] !== undefined);
  const isNamed =
    stanField !== undefined && fields.includes(stanField) ? present.includes(stanField) : present.length > 0;
  return isNamed && present.every((field) => response[field] === request[field]);
}

function signOnStep(processor: Processor, config: SwitchConfig, options: SwitchProtocolOptions): Step | undefined {
  const request = config.signOn ? networkMessages('signOn', processor, config, options) : undefined;
  const { keys } = options;
  if (!request && !keys) return undefined;
  return async (line) => {
    const response = request && (await line.exchange(request()));
    if (response && !processor.isNetworkAccepted(response)) return refusalOf(response, processor);
    return keys === undefined || keys.afterSignOn(line, response);
  };
}

function sessionStep(
  kind: NetworkRequestKind,
  processor: Processor,
  config: SwitchConfig,
  options: SwitchProtocolOptions,
): Step | undefined {
  const request = networkMessages(kind, processor, config, options);
  if (!request) return undefined;
  return async (line) => {
    const response = await line.exchange(request());
    return processor.isNetworkAccepted(response) || refusalOf(response, processor);
  };
}

/** DE39 as a switch may send it: two digits or letters, three digits in the version of 1993. Another text is not trusted. */
const RESPONSE_CODE = /^[0-9A-Za-z]{2,3}$/;

/** The response code for the log, which a person needs to ask the acquirer; false if the response has none. */
function refusalOf(response: IsoMessage, { spec }: Processor): string | false {
  const code = response[spec.fields[39]?.name ?? ''];
  return typeof code === 'string' && RESPONSE_CODE.test(code) && code;
}

/** Returns a function that makes the next message of that kind; undefined if the switch does not support the kind. */
function networkMessages(
  kind: NetworkRequestKind,
  processor: Processor,
  config: SwitchConfig,
  { nextStan, nowMs }: SwitchProtocolOptions,
): (() => IsoMessage) | undefined {
  if (processor.networkRequest(kind, { stan: '000001', sentAtMs: 0 }, config) === undefined) return undefined;
  return () => processor.networkRequest(kind, { stan: nextStan(), sentAtMs: nowMs() }, config)!;
}

/** A switch that sends more requests than this while the HSM seals one reply floods the connection. */
const MAX_WAITING = 64;

interface Queue {
  last: Promise<unknown>;
  waiting: number;
}

/** Replies to requests of the switch. They keep the order of their connection, however long the HSM takes for each. */
export class SealedReplies {
  readonly #seal: ((message: IsoMessage) => Promise<void>) | undefined;
  readonly #queues = new WeakMap<object, Queue>();

  /** @param seal undefined if messages are written as they are */
  constructor(seal: ((message: IsoMessage) => Promise<void>) | undefined) {
    this.#seal = seal;
  }

  /** Resolves when the reply is written. Rejects if it has no MAC or too many wait: it is not written then. */
  async send(line: object, response: IsoMessage, write: (response: IsoMessage) => void): Promise<void> {
    if (this.#seal === undefined) return write(response);
    const queue = this.#queueOf(line);
    if (queue.waiting >= MAX_WAITING) throw new Error('Too many replies wait for their MAC');
    queue.waiting++;
    const sent = this.#sendAfter(queue.last, this.#seal(response), () => write(response));
    queue.last = sent.catch(() => {});
    await sent.finally(() => {
      queue.waiting--;
    });
  }

  /** Resolves when the replies of a connection so far have been written or given up. */
  lastOf(line: object): Promise<unknown> {
    return this.#queues.get(line)?.last ?? Promise.resolve();
  }

  async #sendAfter(before: Promise<unknown>, sealed: Promise<void>, write: () => void): Promise<void> {
    const [, result] = await Promise.allSettled([before, sealed]);
    if (result.status === 'rejected') throw result.reason;
    write();
  }

  #queueOf(line: object): Queue {
    const known = this.#queues.get(line);
    if (known) return known;
    const queue = { last: Promise.resolve(), waiting: 0 };
    this.#queues.set(line, queue);
    return queue;
  }
}
