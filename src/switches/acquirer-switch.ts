import { openPool, type Pool } from '../connection/pool.ts';
import type { PoolStats } from '../connection/pool-stats.ts';
import type { Slot } from '../connection/slot.ts';
import type { IsoMessage } from '../processor-kit/iso-message.ts';
import { isTrusted, macVerdictOf } from '../processor-kit/mac-verdict.ts';
import { messageCodec } from '../processor-kit/message-codec.ts';
import type { PinData, Purchase, Refund, Terminal } from '../processor-kit/processor.ts';
import type { ProcessorProfile } from '../processor-kit/profile.ts';
import { profileOf } from '../processor-kit/profile-of.ts';
import { type ProcessorProtocol, switchProtocol } from '../processor-kit/switch-protocol.ts';
import { OVERDUE_AFTER_SECONDS } from '../transactions/model/time-limits.ts';
import type { ProviderValues } from '../transactions/model/transaction.ts';
import type { EnteredPin } from '../transactions/ports/pin-ports.ts';
import type { Switch, SwitchAnswer, SwitchSlot } from '../transactions/ports/switch-ports.ts';
import type { AcquirerSwitchOptions } from './acquirer-switch-options.ts';
import { exchange } from './exchange.ts';
import type { Outgoing } from './exchange-record.ts';
import { faultLog, type TellFault } from './fault-log.ts';
import type { KeyExchange, KeyExchangeStats } from './key-exchange.ts';
import { MacWatch } from './mac-watch.ts';
import { MaskedCopies } from './masked-copies.ts';
import { NetworkStans } from './network-stans.ts';
import { notedEchoes } from './noted-echoes.ts';
import { checkMacKeys, openKeyExchange } from './open-keys.ts';
import { PinTranslator } from './pin-translator.ts';
import { providerValues } from './provider-values.ts';
import { type Prepared, RequestBuilder } from './request-builder.ts';
import { SettlementWatch } from './settlement-watch.ts';
import { type StandardFields, standardFieldReader } from './standard-fields.ts';
import { switchSlot } from './switch-slot.ts';
import { SwitchStans } from './switch-stans.ts';
import { checkPinKeys } from './translate-pin.ts';
import { checkTransport, openTransportOptions, type TransportOptions } from './transport-options.ts';
import { UnmatchedIntake } from './unmatched-intake.ts';
import type { UnmatchedCounters } from './unmatched-responses.ts';

/**
 * How long a tap waits for a slot when connections are full or still connecting: a fraction of the time that a
 * customer at a till accepts.
 */
const WAIT_FOR_SLOT_MS = 2_000;
/** Longer than nearly every response takes. If not, an unnecessary echo does no harm. */
const SUSPECT_MS = 2_000;
/** Time for the `overdue` job to decide, after the deadline and the job's start. */
const DECIDED_WITHIN_MS = 2_000;

/** Numbers of one switch at one moment; those of `strays` and `badMacs` only increase. */
export interface SwitchStats extends PoolStats {
  readonly type: string;
  readonly availability: string;
  readonly unmatchedResponses: Readonly<UnmatchedCounters>;
  readonly badMacs: number;
  /** Messages that were not sent because the business date had no STAN left. */
  readonly stanless: number;
  /**
   * When the switch last answered an echo of the gateway; null before the first one, and if connections are never
   * idle.
   */
  readonly lastEchoAtMs: number | null;
  /** Undefined if keys are not exchanged. */
  readonly keyExchange: KeyExchangeStats | undefined;
}

/** A processor type with an acquirer's configuration, wired to its connections. */
export class AcquirerSwitch implements Switch {
  readonly type: string;
  readonly profile: ProcessorProfile;
  readonly #options: AcquirerSwitchOptions;
  readonly #pool: Pool<IsoMessage>;
  readonly #networkStans: NetworkStans;
  readonly #requests: RequestBuilder;
  readonly #copies: MaskedCopies;
  readonly #tellFault: TellFault;
  readonly #fieldsOf: (message: IsoMessage) => StandardFields;
  readonly #settlement: SettlementWatch;
  readonly #unmatched: UnmatchedIntake;
  readonly #pinTranslator: PinTranslator;
  readonly #stans: SwitchStans;
  #lastEchoAtMs: number | null = null;
  readonly #keys: KeyExchange | undefined;
  readonly #macs = new MacWatch((connectionId) => {
    this.#keys?.distrust();
    this.#pool.signOnAgain(connectionId);
  });

  private constructor(
    options: AcquirerSwitchOptions,
    networkStans: NetworkStans,
    lines: TransportOptions,
    keys: KeyExchange | undefined,
  ) {
    const { processor, config, acquirerId, processorId, macKeys, clock, log } = options;
    const { connectionsPerAddress, ...pool } = lines;
    this.#options = options;
    this.#networkStans = networkStans;
    this.#keys = keys;
    this.type = processor.type;
    this.profile = profileOf(processor, config);
    this.#requests = new RequestBuilder(processor, config, messageCodec(processor, config, macKeys, keys?.macKeys));
    this.#copies = new MaskedCopies(processor.codec(config).spec);
    this.#tellFault = faultLog(options, log, clock.monotonicMs);
    this.#pinTranslator = new PinTranslator(options);
    this.#stans = new SwitchStans(options);
    const fieldsOf = standardFieldReader(processor);
    this.#fieldsOf = fieldsOf;
    this.#settlement = new SettlementWatch({
      ...options,
      fieldsOf,
      isTrusted: (message) => this.#isTrustedNow(message),
    });
    this.#unmatched = new UnmatchedIntake({
      ...options,
      fieldsOf,
      judge: (response, connectionId) => this.#judge(response, connectionId),
      decidedAfterMs: this.profile.deadlineMs + OVERDUE_AFTER_SECONDS * 1_000 + DECIDED_WITHIN_MS,
      tellFault: this.#tellFault,
    });
    this.#pool = openPool({
      ...pool,
      name: `${acquirerId}-${processorId}-${processor.type}`,
      protocol: this.#protocol(),
      limits: { inFlight: this.profile.maxInFlight, connectionsPerAddress },
      timeouts: { idleEchoMs: this.profile.idleEchoMs, suspectMs: SUSPECT_MS, suspectEchoMs: this.profile.deadlineMs },
      log,
      onUnmatched: ({ response, connectionId }) => this.#unmatched.take(response, connectionId),
      onStateChange: ({ connectionId, to }) => {
        if (to !== 'down') return;
        this.#macs.forget(connectionId);
        keys?.forget(connectionId);
      },
    });
  }

  #protocol(): ProcessorProtocol {
    const { processor, config, macKeys, clock, messages } = this.#options;
    const protocol = switchProtocol(processor, config, {
      nextStan: () => this.#networkStans.next(),
      nowMs: clock.nowMs,
      macKeys,
      keys: this.#keys,
      onSwitchRequest: (request) => void this.#settlement.noteRequest(request).catch(this.#tellFault),
    });
    const noted = notedEchoes(protocol, () => {
      this.#lastEchoAtMs = clock.nowMs();
    });
    return messages.isKeeping ? this.#copies.around(noted) : noted;
  }

  /** @throws StartError BAD_PROCESSOR if keys, files or addresses in the configuration are not available */
  static async open(options: AcquirerSwitchOptions): Promise<AcquirerSwitch> {
    const { acquirerId, processorId, processor, config, macKeys, pins, stans, dates } = options;
    const where = `processor ${processorId} of acquirer ${acquirerId} (${processor.type})`;
    checkTransport(processor, config, where);
    options.access.check(acquirerId, config, where);
    checkMacKeys(processor, config, macKeys, where);
    await checkPinKeys(pins, config.pinKey, where);
    const scope = { acquirerId, tid: `network ${processorId}` };
    const lines = await openTransportOptions(config, where, options);
    let keys: KeyExchange | undefined;
    try {
      let networkStans: NetworkStans | undefined;
      // No key is requested before there is a connection.
      const nextStamp = () => ({ stan: networkStans!.next(), sentAtMs: options.clock.nowMs() });
      keys = await openKeyExchange(options, nextStamp, where);
      // STANs are reserved last, because a processor that cannot be opened is retried again and again.
      networkStans = await NetworkStans.open(() => stans.next(scope, dates.current(acquirerId)));
      return new AcquirerSwitch(options, networkStans, lines, keys);
    } catch (fault) {
      lines.accept?.server.close();
      keys?.close();
      throw fault;
    }
  }

  get availability(): string {
    return this.#pool.availability;
  }

  get isSignedOn(): boolean {
    return this.#pool.availability === 'ready' || this.isFull;
  }

  get isSuspect(): boolean {
    return this.#pool.isSuspect;
  }

  get isFull(): boolean {
    return this.#pool.availability === 'full';
  }

  get stats(): SwitchStats {
    const { type, availability } = this;
    const { refused: stanless } = this.#stans;
    const counts = {
      unmatchedResponses: { ...this.#unmatched.counters },
      badMacs: this.#macs.bad,
      stanless,
      keyExchange: this.#keys?.stats,
    };
    return { type, availability, lastEchoAtMs: this.#lastEchoAtMs, ...this.#pool.stats, ...counts };
  }

  /** For people, who may sign connections off and on. */
  get lines(): Pick<Pool<IsoMessage>, 'lines' | 'signOff' | 'signOn'> {
    return this.#pool;
  }

  nextStan(tid: string, use?: 'followUp'): Promise<string | undefined> {
    return this.#stans.next(this.profile.stanScope === 'terminal' ? tid : null, use);
  }

  get takesPin(): boolean {
    return this.#options.config.pinKey !== undefined;
  }

  async translatePin(pin: EnteredPin, pan: string): Promise<PinData> {
    const { pins, config } = this.#options;
    if (!pins || !config.pinKey) throw new Error('The switch takes no PINs');
    const exchanged = this.#keys?.macKeys.current('pin');
    const key = exchanged ? { ...config.pinKey, keyId: exchanged.keyId } : config.pinKey;
    return { ...(await this.#pinTranslator.translate(pins, key, pin, pan)), keyNumber: exchanged?.number };
  }

  async takeSlot(connectionId?: string): Promise<SwitchSlot | undefined> {
    const slot = this.#pool.takeSlot({ connectionId });
    if (slot) return this.#line(slot);
    const giveUpAtMs = this.#options.clock.monotonicMs() + WAIT_FOR_SLOT_MS;
    const later = await this.#pool.waitForSlot({ giveUpAtMs, connectionId });
    return later && this.#line(later);
  }

  hasConnection(connectionId: string): boolean {
    return this.#pool.hasConnection(connectionId);
  }

  prepare(purchase: Purchase): Prepared {
    return this.#requests.authorization(purchase);
  }

  get takesMandates(): boolean {
    return this.#requests.takesMandates;
  }

  prepareMandate(purchase: Purchase): Prepared {
    return this.#requests.mandate(purchase);
  }

  prepareRefund(refund: Refund): Prepared | undefined {
    return this.#requests.refund(refund);
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
    return switchSlot(slot, {
      processor,
      config,
      fieldsOf: this.#fieldsOf,
      exchange: (taken, outgoing, read) => this.#exchange(taken, outgoing, read),
      pinGate: () => this.#keys?.pinGate,
      tellFault: this.#tellFault,
    });
  }

  #exchange<Value>(
    slot: Slot<IsoMessage>,
    outgoing: Outgoing,
    read: (response: IsoMessage, request: IsoMessage) => Value,
  ): Promise<SwitchAnswer<Value>> {
    const note = (response: IsoMessage, connectionId: string) => this.#note(response, connectionId);
    const { processorId, messages, clock } = this.#options;
    const parts = { processorId, messages, clock, copies: this.#copies, tellFault: this.#tellFault, note };
    return exchange(parts, slot, outgoing, read);
  }

  /** Evaluates the rest of each response: whether the keys still match, and the switch's business date. */
  async #note(response: IsoMessage, connectionId: string): Promise<void> {
    await this.#judge(response, connectionId);
    if (isTrusted(response)) this.#settlement.noteResponse(response);
  }

  async #judge(response: IsoMessage, connectionId: string): Promise<void> {
    await this.#isTrustedNow(response);
    if (this.#options.config.macKeys !== undefined) this.#macs.note(connectionId, macVerdictOf(response));
  }

  /** Also checks keys that arrived after the message was read. */
  async #isTrustedNow(message: IsoMessage): Promise<boolean> {
    return isTrusted(message) || ((await this.#keys?.isTrusted(message)) ?? false);
  }
}
