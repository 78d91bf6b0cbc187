import { openPool, type Pool } from '../connection/pool.ts';
import type { ConnectionLog } from '../connection/pool-options.ts';
import type { PoolStats } from '../connection/pool-stats.ts';
import type { Slot } from '../connection/slot.ts';
import type { MacKeys } from '../processor-kit/mac-rule.ts';
import { macVerdictOf } from '../processor-kit/mac-verdict.ts';
import { messageCodec } from '../processor-kit/message-codec.ts';
import { answers, messageClass } from '../processor-kit/mti.ts';
import type {
  IsoMessage,
  PinData,
  Processor,
  Purchase,
  Refund,
  SwitchConfig,
  Terminal,
} from '../processor-kit/processor.ts';
import type { ProcessorProfile } from '../processor-kit/profile.ts';
import { profileOf } from '../processor-kit/switch-config.ts';
import { type ProcessorProtocol, switchProtocol } from '../processor-kit/switch-protocol.ts';
import type { EnteredPin } from '../transactions/ports/pin-ports.ts';
import type { Clock, PreparedRequest, Switch, SwitchAnswer, SwitchSlot } from '../transactions/ports.ts';
import type { StrayResponse } from '../transactions/reversal/late-response.ts';
import { OVERDUE_AFTER_SECONDS } from '../transactions/time-limits.ts';
import type { ProviderValues } from '../transactions/transaction.ts';
import { buildFor, exchange, tellFault } from './exchange.ts';
import type { Outgoing } from './exchange-record.ts';
import type { KeyExchange, KeyExchangeStats } from './key-exchange.ts';
import { type LineOptions, openLineOptions } from './line-options.ts';
import { MacWatch } from './mac-watch.ts';
import { MaskedCopies } from './masked-copies.ts';
import { NetworkStans } from './network-stans.ts';
import { checkMacKeys, type KeyExchangeParts, openKeyExchange } from './open-keys.ts';
import type { BusinessDates, MessageKeeper, Stans } from './ports.ts';
import { providerValues } from './provider-values.ts';
import { type StandardFields, standardFieldReader } from './standard-fields.ts';
import { StrayCounters, type StrayResponses } from './stray-responses.ts';
import { checkPinKeys, type PinTranslation, translatePin } from './translate-pin.ts';

export interface AcquirerSwitchOptions {
  readonly acquirerId: number;
  readonly processorId: number;
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly stans: Stans;
  readonly dates: BusinessDates;
  readonly strays: StrayResponses;
  readonly messages: MessageKeeper;
  /** The HSM's; undefined when the installation has none. */
  readonly macKeys: MacKeys | undefined;
  readonly pins: PinTranslation | undefined;
  /** The HSM's, too. */
  readonly keyExchange: KeyExchangeParts | undefined;
  /** Where the PEM files lie that configurations name. */
  readonly tlsFilesDirectory: string;
  readonly clock: Clock;
  readonly log: ConnectionLog;
}

/** How long a tap waits for a slot when connections are busy or just coming up: a fraction of what a person at a till bears. */
const WAIT_FOR_SLOT_MS = 2_000;
/** The longest message of any dialect, to try an encoding on. */
const MAX_MESSAGE_BYTES = 16_384;
/** After a deadline and the `overdue` job's start, so long for the job to have decided. */
const DECIDED_WITHIN_MS = 2_000;
/** Authorizations and financial requests: what can be approved late. */
const MONEY_CLASSES: readonly string[] = ['1', '2'];

/** Plain numbers of one switch at one moment; those of `strays` and `badMacs` only grow. */
export interface SwitchStats extends PoolStats {
  readonly type: string;
  readonly availability: string;
  readonly strays: Readonly<StrayCounters>;
  readonly badMacs: number;
  /** When the switch last answered an echo of ours; null before, and where lines are never idle. */
  readonly lastEchoAtMs: number | null;
  /** Undefined where keys are not exchanged. */
  readonly keyExchange: KeyExchangeStats | undefined;
}

interface Prepared extends PreparedRequest {
  readonly message: IsoMessage;
  readonly hasPin: boolean;
}

/** A processor type with an acquirer's configuration, wired to its connections. */
export class AcquirerSwitch implements Switch {
  readonly type: string;
  readonly profile: ProcessorProfile;
  readonly #options: AcquirerSwitchOptions;
  readonly #pool: Pool<IsoMessage>;
  readonly #networkStans: NetworkStans;
  readonly #scratch = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #codec: ReturnType<typeof messageCodec>;
  readonly #copies: MaskedCopies;
  readonly #fieldsOf: (message: IsoMessage) => StandardFields;
  readonly #strays = new StrayCounters();
  #lastEchoAtMs: number | null = null;
  /** The last one that an answer named: nearly all of a day name the same. */
  #settlementDate: string | undefined;
  readonly #keys: KeyExchange | undefined;
  readonly #macs = new MacWatch((connectionId) => {
    this.#keys?.distrust();
    this.#pool.signOnAgain(connectionId);
  });

  private constructor(
    options: AcquirerSwitchOptions,
    networkStans: NetworkStans,
    lines: LineOptions,
    keys: KeyExchange | undefined,
  ) {
    const { processor, config, acquirerId, processorId, macKeys, clock, log } = options;
    const { connectionsPerAddress, ...pool } = lines;
    this.#options = options;
    this.#networkStans = networkStans;
    this.#keys = keys;
    this.type = processor.type;
    this.profile = profileOf(processor, config);
    this.#codec = messageCodec(processor, config, macKeys, keys?.macKeys);
    this.#fieldsOf = standardFieldReader(processor);
    this.#copies = new MaskedCopies(processor.codec(config).spec);
    this.#pool = openPool({
      ...pool,
      name: `${acquirerId}-${processorId}-${processor.type}`,
      protocol: this.#watched(
        switchProtocol(processor, config, {
          nextStan: () => networkStans.next(),
          nowMs: clock.nowMs,
          macKeys,
          keys,
          onSwitchRequest: (request) => void this.#noteCutOver(request).catch((error) => tellFault(options, error)),
        }),
      ),
      limits: { inFlight: this.profile.maxInFlight, connectionsPerAddress },
      timeouts: { idleEchoMs: this.profile.idleEchoMs },
      log,
      onUnmatched: ({ response, connectionId }) =>
        void this.#takeStray(response, connectionId).catch((error) => tellFault(options, error, connectionId)),
      onStateChange: ({ connectionId, to }) => {
        if (to !== 'down') return;
        this.#macs.forget(connectionId);
        keys?.forget(connectionId);
      },
    });
  }

  /** Takes note of echoes, and of what people may see of messages. */
  #watched(protocol: ProcessorProtocol): ProcessorProtocol {
    const { echo } = protocol;
    const noted: ProcessorProtocol['echo'] = async (line) => {
      const isAnswered = await echo!(line);
      if (isAnswered) this.#lastEchoAtMs = this.#options.clock.nowMs();
      return isAnswered;
    };
    const watched = { ...protocol, echo: echo && noted };
    return this.#options.messages.isKeeping ? this.#copies.around(watched) : watched;
  }

  /** @throws StartError BAD_PROCESSOR when keys, files or addresses that the configuration names are not to be had */
  static async open(options: AcquirerSwitchOptions): Promise<AcquirerSwitch> {
    const { acquirerId, processorId, processor, config, macKeys, pins, stans, dates } = options;
    const where = `processor ${processorId} of acquirer ${acquirerId} (${processor.type})`;
    checkMacKeys(processor, config, macKeys, where);
    await checkPinKeys(pins, config.pinKey, where);
    const scope = { acquirerId, tid: `network ${processorId}` };
    const lines = await openLineOptions(config, where, options.tlsFilesDirectory);
    try {
      // Numbers are reserved last: a processor that cannot be opened is tried again and again.
      const networkStans = await NetworkStans.open(() => stans.next(scope, dates.current(acquirerId)));
      const nextStamp = () => ({ stan: networkStans.next(), sentAtMs: options.clock.nowMs() });
      return new AcquirerSwitch(options, networkStans, lines, await openKeyExchange(options, nextStamp, where));
    } catch (fault) {
      lines.accept?.server.close();
      throw fault;
    }
  }

  get availability(): string {
    return this.#pool.availability;
  }

  get isSignedOn(): boolean {
    return this.#pool.availability === 'ready' || this.isFull;
  }

  get isFull(): boolean {
    return this.#pool.availability === 'full';
  }

  get stats(): SwitchStats {
    const { type, availability } = this;
    const counts = { strays: { ...this.#strays }, badMacs: this.#macs.bad, keyExchange: this.#keys?.stats };
    return { type, availability, lastEchoAtMs: this.#lastEchoAtMs, ...this.#pool.stats, ...counts };
  }

  /** For people, who may sign them off and on. */
  get lines(): Pick<Pool<IsoMessage>, 'lines' | 'signOff' | 'signOn'> {
    return this.#pool;
  }

  nextStan(tid: string): Promise<string | undefined> {
    const { acquirerId, stans, dates } = this.#options;
    const scope = { acquirerId, tid: this.profile.stanScope === 'terminal' ? tid : null };
    return stans.next(scope, dates.current(acquirerId));
  }

  get takesPin(): boolean {
    return this.#options.config.pinKey !== undefined;
  }

  async translatePin(pin: EnteredPin, pan: string): Promise<PinData> {
    const { pins, config } = this.#options;
    if (!pins || !config.pinKey) throw new Error('The switch takes no PINs');
    const exchanged = this.#keys?.macKeys.current('pin');
    const key = exchanged ? { ...config.pinKey, keyId: exchanged.keyId } : config.pinKey;
    return { ...(await translatePin(pins, key, pin, pan)), keyNumber: exchanged?.number };
  }

  async takeSlot(connectionId?: string): Promise<SwitchSlot | undefined> {
    const slot = this.#pool.takeSlot({ connectionId });
    if (slot) return this.#line(slot);
    const untilMs = this.#options.clock.monotonicMs() + WAIT_FOR_SLOT_MS;
    const later = await this.#pool.waitForSlot({ untilMs, connectionId });
    return later && this.#line(later);
  }

  hasConnection(connectionId: string): boolean {
    return this.#pool.hasConnection(connectionId);
  }

  prepare(purchase: Purchase): Prepared {
    const { processor, config } = this.#options;
    const wantsCompletion = processor.completion?.isWanted(config) ?? false;
    return {
      ...this.#prepared(processor.authorization(purchase, config), purchase.pin !== undefined),
      wantsCompletion,
    };
  }

  get takesMandates(): boolean {
    return this.#options.processor.mandateAuthorization !== undefined;
  }

  prepareMandate(purchase: Purchase): ReturnType<AcquirerSwitch['prepare']> {
    const { processor, config } = this.#options;
    if (!processor.mandateAuthorization) throw new Error('The switch takes no mandates');
    return this.#prepared(processor.mandateAuthorization(purchase, config), purchase.pin !== undefined);
  }

  prepareRefund(refund: Refund): Prepared | undefined {
    const { processor, config } = this.#options;
    return processor.refund && this.#prepared(processor.refund(refund, config));
  }

  #prepared(message: IsoMessage, hasPin = false): Prepared {
    try {
      this.#codec.encode(message, this.#scratch, 0);
    } finally {
      this.#scratch.fill(0);
    }
    return { message, hasPin, original: this.#options.processor.originalData(message) };
  }

  providerId(terminal: Terminal): ProviderValues {
    const { processor, config } = this.#options;
    return providerValues(() => processor.providerId(config, terminal));
  }

  async close(deadlineAtMs: number): Promise<void> {
    await this.#pool.close({ deadlineAtMs });
    this.#keys?.close();
    this.#networkStans.close();
  }

  #line(slot: Slot<IsoMessage>): SwitchSlot {
    const { processor, config } = this.#options;
    return {
      release: () => slot.release(),
      complete: (completion, timing, about) => {
        const advice = processor.completion!;
        const named = { about, kind: 'completion', number: completion.attempt } as const;
        return this.#exchange(
          slot,
          { ...named, message: buildFor(slot, () => advice.build(completion, config)), timing },
          (response) => this.#isTrusted(response) && advice.isAcknowledged(response),
        );
      },
      authorize: async (request, timing, about) => {
        const { message, hasPin } = request as Prepared;
        while (hasPin && this.#keys?.pinGate) await this.#keys.pinGate;
        const outgoing: Outgoing = { about, kind: 'authorization', number: 1, message, timing };
        return this.#exchange(slot, outgoing, (response, sent) => ({
          outcome: processor.readOutcome(response, sent),
          providerFields: providerValues(() => processor.providerFields(response)),
        }));
      },
      reverse: async (reversal, timing, about) => {
        const named = { about, kind: 'reversal', number: reversal.attempt } as const;
        const outgoing: Outgoing = {
          ...named,
          message: buildFor(slot, () => processor.reversal(reversal, config)),
          timing,
        };
        const answer = await this.#exchange(slot, outgoing, (response) =>
          this.#isTrusted(response) ? processor.readReversalAnswer(response) : undefined,
        );
        if (answer.kind !== 'answered') return answer;
        const { value, connectionId } = answer;
        // What cannot be trusted says nothing, not even no: a void that was refused ends.
        return value === undefined ? { kind: 'garbled', connectionId } : { kind: 'answered', value, connectionId };
      },
    };
  }

  #exchange<Value>(
    slot: Slot<IsoMessage>,
    outgoing: Outgoing,
    read: (response: IsoMessage, request: IsoMessage) => Value,
  ): Promise<SwitchAnswer<Value>> {
    const note = async (response: IsoMessage, connectionId: string) => {
      if (!this.#isTrusted(response)) await this.#keys?.isTrusted(response);
      this.#watch(response, connectionId);
    };
    return exchange({ ...this.#options, copies: this.#copies, note }, slot, outgoing, read);
  }

  /** What every response tells besides its answer: whether the keys still agree, and the switch's business date. */
  #watch(response: IsoMessage, connectionId: string): void {
    if (this.#options.config.macKeys !== undefined) this.#macs.note(connectionId, macVerdictOf(response));
    const { settlementDate } = this.#fieldsOf(response);
    if (settlementDate === undefined || settlementDate === this.#settlementDate || !this.#isTrusted(response)) return;
    this.#settlementDate = settlementDate;
    this.#announce(settlementDate);
  }

  #isTrusted(response: IsoMessage): boolean {
    return (macVerdictOf(response) ?? 'good') === 'good';
  }

  async #noteCutOver(request: IsoMessage): Promise<void> {
    const { processor } = this.#options;
    await this.#keys?.isTrusted(request);
    const isCutOver = this.#isTrusted(request) && processor.readRequest(request).network === 'cutOver';
    if (isCutOver) this.#announce(this.#fieldsOf(request).settlementDate);
  }

  #announce(settlementDate: string | undefined): void {
    const { acquirerId, processorId, dates } = this.#options;
    dates.announce({ acquirerId, processorId }, settlementDate);
  }

  async #takeStray(response: IsoMessage, connectionId: string): Promise<void> {
    await this.#keys?.isTrusted(response);
    if (this.#options.config.macKeys !== undefined) this.#macs.note(connectionId, macVerdictOf(response));
    const stray = this.#strayOf(response);
    const decidedAfterMs = this.profile.deadlineMs + OVERDUE_AFTER_SECONDS * 1_000 + DECIDED_WITHIN_MS;
    if (stray) this.#options.strays.take(stray, this.#strays, decidedAfterMs);
    else this.#strays.unknown++;
  }

  /** Undefined when the response names no request about money. */
  #strayOf(response: IsoMessage): StrayResponse | undefined {
    const { acquirerId, processorId, processor } = this.#options;
    const { stan, tid, rrn, transmissionDateTime } = this.#fieldsOf(response);
    if (!MONEY_CLASSES.includes(messageClass(response)) || stan === undefined || tid === undefined) return undefined;
    return {
      ...{ acquirerId, processorId, stan, tid, rrn, transmissionDateTime },
      read: (original) => {
        const { mti = '' } = original;
        const request: IsoMessage = { ...original, mti };
        return mti === '' || answers(response, request) ? processor.readOutcome(response, request) : undefined;
      },
    };
  }
}
