import { HsmUnavailable } from '../../basics/errors.ts';
import type { IsoMessage } from '../../kits/processor-kit/iso-fields.ts';
import { terminalScopeFault } from '../../kits/processor-kit/message-identity.ts';
import type { PinData, Purchase, Refund, Terminal } from '../../kits/processor-kit/processor.ts';
import type { ProcessorProfile } from '../../kits/processor-kit/profile.ts';
import { type ProcessorProtocol, profileOf, switchProtocol } from '../../kits/processor-kit/switch-protocol.ts';
import type { SwitchRevision } from '../../payments/model/switch-revision.ts';
import { OVERDUE_AFTER_SECONDS } from '../../payments/model/time-limits.ts';
import type { ProviderValues } from '../../payments/model/transaction.ts';
import type { EnteredPin, Switch, SwitchResponse, SwitchSlot, TakenStan } from '../../payments/ports/switch-ports.ts';
import { openPool, type Pool } from '../connection/pool.ts';
import type { PoolStats } from '../connection/pool-stats.ts';
import type { Slot } from '../connection/slot.ts';
import { HsmCalls } from '../hsm/hsm-calls.ts';
import type { AcquirerSwitchOptions } from './acquirer-switch-options.ts';
import { exchange, MaskedCopies, type Outgoing } from './exchange.ts';
import { type HsmCodec, hsmCodec, type MacHsm } from './hsm-codec.ts';
import { checkMacKeys, type KeyExchange, type KeyExchangeStats, openKeyExchange } from './key-exchange.ts';
import { faultLog, type ReportFault } from './key-requests.ts';
import { ReceivedMessages } from './received-messages.ts';
import { providerValues, RecentApprovals, type StandardFields, standardFieldReader } from './standard-fields.ts';
import { NetworkStans, type Prepared, RequestBuilder, SwitchStans, switchSlot } from './switch-slot.ts';
import { checkPinKeys, translatePin } from './translate-pin.ts';
import {
  checkTransport,
  openTransportOptions,
  type SwitchTlsFiles,
  type TransportOptions,
  type UsedCertificate,
} from './transport-options.ts';
import type { UnmatchedCounters } from './unmatched-responses.ts';
import type { UsableKey } from './working-keys.ts';

/**
 * How long a tap waits for a slot when connections are full or still connecting: a fraction of the time that a
 * customer at a till accepts.
 */
const WAIT_FOR_SLOT_MS = 2_000;
/** Longer than nearly every response takes. If not, an unnecessary echo does no harm. */
const SUSPECT_MS = 2_000;
/** Time for a worker to decide an overdue attempt, after the deadline and its grace. */
const DECIDED_WITHIN_MS = 2_000;

/** Numbers of one switch at one moment; those of `unmatchedResponses` and `badMacs` only increase. */
export interface SwitchStats extends PoolStats {
  readonly type: string;
  readonly availability: string;
  readonly unmatchedResponses: Readonly<UnmatchedCounters>;
  readonly badMacs: number;
  /** Messages that were not sent because the business date had no STAN left. */
  readonly stanless: number;
  /** Calls that the HSM did not take, whose key it cannot use, or to which it did not respond in time; only increases. */
  readonly hsmFailures: number;
  /**
   * When the switch last responded to an echo of the gateway; null before the first one, and if connections are never
   * idle.
   */
  readonly lastEchoAtMs: number | null;
  /** Undefined if keys are not exchanged. */
  readonly keyExchange: KeyExchangeStats | undefined;
  /** For TLS; connections that are open may still use earlier ones. */
  readonly certificates: readonly UsedCertificate[];
}

/**
 * A processor type with an acquirer's configuration, wired to its connections.
 *
 * The pool dials and signs connections on from the construction to `close`, and asks the protocol for the bytes. A
 * tap takes a slot of the pool; `switch-slot.ts` and `exchange.ts` send its message. Every other message that arrives
 * goes to {@link ReceivedMessages}.
 */
export class AcquirerSwitch implements Switch {
  readonly type: string;
  readonly profile: ProcessorProfile;
  readonly revision: SwitchRevision | undefined;
  readonly #options: AcquirerSwitchOptions;
  readonly #networkStans: NetworkStans;
  readonly #keys: KeyExchange | undefined;
  readonly #tls: SwitchTlsFiles | undefined;
  readonly #pool: Pool<IsoMessage>;
  readonly #received: ReceivedMessages;
  readonly #requests: RequestBuilder;
  readonly #stans: SwitchStans;
  readonly #codec: HsmCodec;
  readonly #pinCalls: HsmCalls;
  readonly #macCalls: HsmCalls;
  readonly #copies: MaskedCopies;
  readonly #reportFault: ReportFault;
  readonly #fieldsOf: (message: IsoMessage) => StandardFields;
  readonly #approvals = new RecentApprovals();
  /** The id of the key that each translated PIN is under. */
  readonly #pinKeyIds = new WeakMap<PinData, string>();
  #lastEchoAtMs: number | null = null;

  constructor(
    options: AcquirerSwitchOptions,
    {
      networkStans,
      transport,
      keys,
    }: {
      readonly networkStans: NetworkStans;
      readonly transport: TransportOptions;
      /** Undefined if keys are not exchanged. */
      readonly keys: KeyExchange | undefined;
    },
  ) {
    const { processor, config, clock, log } = options;
    this.#options = options;
    this.#networkStans = networkStans;
    const { acquirerId, processorId } = options;
    const owner = { acquirerId, processorId };
    this.#pinCalls = new HsmCalls({ owner, purpose: 'PIN', clock, log });
    this.#macCalls = new HsmCalls({ owner, purpose: 'MAC', clock, log });
    this.#keys = keys;
    this.#tls = transport.tls;
    this.type = processor.type;
    this.profile = profileOf(processor, config);
    this.revision = options.revision;
    this.#codec = hsmCodec(processor, config, this.#guardedMacs(), keys?.macKeys);
    this.#requests = new RequestBuilder(processor, config, this.#codec);
    this.#copies = new MaskedCopies(processor.codec(config).spec);
    this.#reportFault = faultLog(options, log, clock.monotonicMs);
    this.#stans = new SwitchStans(options);
    this.#fieldsOf = standardFieldReader(processor);
    this.#received = new ReceivedMessages({
      ...options,
      keys,
      fieldsOf: this.#fieldsOf,
      approvals: this.#approvals,
      decidedAfterMs: this.profile.deadlineMs + OVERDUE_AFTER_SECONDS * 1_000 + DECIDED_WITHIN_MS,
      signOnAgain: (connectionId) => this.#pool.signOnAgain(connectionId),
      reportFault: this.#reportFault,
    });
    this.#pool = this.#openPool(transport);
  }

  /** The HSM, with a limit for each call. */
  #guardedMacs(): MacHsm | undefined {
    const { macs } = this.#options;
    return (
      macs && {
        mac: (request) => this.#macCalls.run(() => macs.mac(request), request),
        verifyMac: (request) => this.#macCalls.run(() => macs.verifyMac(request), request),
      }
    );
  }

  #openPool({ connectionsPerAddress, ...transport }: TransportOptions): Pool<IsoMessage> {
    const { acquirerId, processorId, log } = this.#options;
    const { maxInFlight, idleEchoMs, deadlineMs } = this.profile;
    return openPool({
      ...transport,
      name: `${acquirerId}-${processorId}-${this.type}`,
      protocol: this.#protocol(),
      limits: { inFlight: maxInFlight, connectionsPerAddress },
      timeouts: { idleEchoMs, suspectMs: SUSPECT_MS, suspectEchoMs: deadlineMs },
      log,
      onUnmatched: ({ response, connectionId }) => this.#received.takeUnmatched(response, connectionId),
      onStateChange: ({ connectionId, to }) => {
        if (to !== 'down') return;
        this.#received.forget(connectionId);
        this.#keys?.forget(connectionId);
      },
    });
  }

  #protocol(): ProcessorProtocol {
    const { processor, config, clock, messages } = this.#options;
    const protocol = switchProtocol(processor, config, {
      nextStan: () => this.#networkStans.next(),
      nowMs: clock.nowMs,
      codec: this.#codec,
      keys: this.#keys,
      onSwitchRequest: (request) => this.#received.noteRequest(request),
    });
    const noted = notedEchoes(protocol, () => {
      this.#lastEchoAtMs = clock.nowMs();
    });
    return messages.isKeeping ? this.#copies.around(noted) : noted;
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
    const { unmatchedCounters: unmatchedResponses, badMacs } = this.#received;
    const hsmFailures = this.#pinCalls.failed + this.#macCalls.failed;
    const counts = { unmatchedResponses, badMacs, stanless, hsmFailures, keyExchange: this.#keys?.stats };
    const certificates = this.#tls?.certificates ?? [];
    return { type, availability, lastEchoAtMs: this.#lastEchoAtMs, ...this.#pool.stats, ...counts, certificates };
  }

  /** The connections, for people who sign them off and on. */
  get lines(): Pick<Pool<IsoMessage>, 'lines' | 'signOff' | 'signOn'> {
    return this.#pool;
  }

  nextStan(tid: string, use?: 'followUp'): Promise<TakenStan | undefined> {
    return this.#stans.next(this.profile.stanScope === 'terminal' ? tid : null, use);
  }

  get takesPin(): boolean {
    return this.#options.config.pinKey !== undefined;
  }

  async translatePin(pin: EnteredPin, pan: string): Promise<PinData> {
    const { pins, config } = this.#options;
    if (!pins || !config.pinKey) throw new Error('The switch takes no PINs');
    const usable = this.#pinKey();
    const exchanged = usable === 'configured' ? undefined : usable;
    const key = exchanged ? { ...config.pinKey, keyId: exchanged.keyId } : config.pinKey;
    const translated = await this.#pinCalls.run(() => translatePin(pins, key, pin, pan), { keyId: key.keyId });
    const data: PinData = { ...translated, keyNumber: exchanged?.number };
    this.#pinKeyIds.set(data, key.keyId);
    return data;
  }

  /** To callers it is the same whether the HSM or the key is unavailable: no PIN can be sent now. */
  #pinKey(): UsableKey {
    try {
      return this.#keys?.pinKey() ?? 'configured';
    } catch (cause) {
      throw new HsmUnavailable({ cause });
    }
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
    return this.#withPinKey(this.#requests.authorization(purchase), purchase);
  }

  #withPinKey(prepared: Prepared, { pin }: Purchase): Prepared {
    const pinKeyId = pin && this.#pinKeyIds.get(pin);
    return pinKeyId === undefined ? prepared : { ...prepared, pinKeyId };
  }

  get takesMandates(): boolean {
    return this.#requests.takesMandates;
  }

  prepareMandate(purchase: Purchase): Prepared {
    return this.#withPinKey(this.#requests.mandate(purchase), purchase);
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
    await this.#received.close();
    this.#keys?.close();
    this.#tls?.close();
    this.#networkStans.close();
  }

  #line(slot: Slot<IsoMessage>): SwitchSlot {
    const { processor, config } = this.#options;
    return switchSlot(slot, {
      processor,
      config,
      fieldsOf: this.#fieldsOf,
      approvals: this.#approvals,
      exchange: (taken, outgoing, read) => this.#exchange(taken, outgoing, read),
      pinGate: () => this.#keys?.pinGate,
      isPinKeyAccepted: (keyId) => this.#keys?.macKeys.isAccepted('pin', keyId) ?? true,
      reportFault: this.#reportFault,
    });
  }

  #exchange<Value>(
    slot: Slot<IsoMessage>,
    outgoing: Outgoing,
    read: (response: IsoMessage, request: IsoMessage) => Value,
  ): Promise<SwitchResponse<Value>> {
    const note = (response: IsoMessage, connectionId: string) => this.#received.noteResponse(response, connectionId);
    const { processorId, messages, clock } = this.#options;
    const { seal } = this.#codec;
    const parts = { processorId, messages, clock, copies: this.#copies, reportFault: this.#reportFault, note, seal };
    return exchange(parts, slot, outgoing, read);
  }
}

/** Wraps the protocol and reports every echo of the gateway to which the switch responds. */
function notedEchoes(protocol: ProcessorProtocol, onResponse: () => void): ProcessorProtocol {
  const { echo } = protocol;
  if (!echo) return protocol;
  return {
    ...protocol,
    echo: async (line) => {
      const hasResponded = await echo(line);
      if (hasResponded) onResponse();
      return hasResponded;
    },
  };
}

/**
 * Opens an acquirer's switch: checks its configuration, loads its exchanged keys, and reserves its STANs.
 *
 * @throws StartError BAD_PROCESSOR if keys, files or addresses in the configuration are not available
 */
export async function openAcquirerSwitch(options: AcquirerSwitchOptions): Promise<AcquirerSwitch> {
  const { acquirerId, processorId, processor, config, macs, pins, stans, dates } = options;
  const where = `processor ${processorId} of acquirer ${acquirerId} (${processor.type})`;
  checkTransport(processor, config, where);
  options.access.check(acquirerId, config, where);
  await checkMacKeys(processor, config, macs, where);
  await checkPinKeys(pins, config.pinKey, where);
  const narrow = config.profile?.stanScope === 'terminal' ? terminalScopeFault(processor, config) : undefined;
  if (narrow !== undefined)
    options.log.warn(
      { acquirerId, processorId, reason: narrow },
      'profile.stanScope terminal is not obeyed, STANs are counted for the acquirer',
    );
  const scope = { acquirerId, tid: `network ${processorId}` };
  const transport = await openTransportOptions(config, where, options);
  let keys: KeyExchange | undefined;
  try {
    let networkStans: NetworkStans | undefined;
    // No key is requested before there is a connection.
    const nextStamp = () => ({ stan: networkStans!.next(), sentAtMs: options.clock.nowMs() });
    keys = await openKeyExchange(options, nextStamp, where);
    // STANs are reserved last, because a processor that cannot be opened is retried again and again.
    networkStans = await NetworkStans.open(async () => (await stans.next(scope, dates.current(acquirerId)))?.stan);
    return new AcquirerSwitch(options, { networkStans, transport, keys });
  } catch (fault) {
    transport.accept?.server.close();
    transport.tls?.close();
    keys?.close();
    throw fault;
  }
}
