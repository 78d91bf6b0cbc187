import { LogBudget } from '../../basics/limits/log-budget.ts';
import type { IsoMessage } from '../../kits/processor-kit/iso-fields.ts';
import { isTrusted } from '../../kits/processor-kit/mac-layout.ts';
import type { Processor, Purchase, Refund, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import type { PreparedRequest, SwitchResponse, SwitchSlot, TakenStan } from '../../payments/ports/switch-ports.ts';
import type { Slot } from '../connection/slot.ts';
import type { AcquirerSwitchOptions } from './acquirer-switch-options.ts';
import type { Outgoing } from './exchange.ts';
import type { HsmCodec } from './hsm-codec.ts';
import type { ReportFault } from './key-requests.ts';
import { cardNumberReader, providerValues, type RecentApprovals, type StandardFields } from './standard-fields.ts';

/** A slot of the pool as the domain sees it: in terms of requests and outcomes, not of messages. */
export function switchSlot(
  slot: Slot<IsoMessage>,
  {
    processor,
    config,
    fieldsOf,
    approvals,
    exchange,
    pinGate,
    isPinKeyAccepted,
    reportFault,
  }: {
    readonly processor: Processor;
    readonly config: SwitchConfig;
    readonly fieldsOf: (message: IsoMessage) => StandardFields;
    readonly approvals: RecentApprovals;
    /** Sends on the slot, and returns what `read` makes of the response. */
    readonly exchange: <Value>(
      slot: Slot<IsoMessage>,
      outgoing: Outgoing,
      read: (response: IsoMessage, request: IsoMessage) => Value,
    ) => Promise<SwitchResponse<Value>>;
    /** No PIN is sent until it resolves; undefined if no wait is needed. */
    readonly pinGate: () => Promise<void> | undefined;
    /** Whether the switch still accepts PINs under this key: a message may have waited since its PIN was translated. */
    readonly isPinKeyAccepted: (keyId: string) => boolean;
    readonly reportFault: ReportFault;
  },
): SwitchSlot {
  const cardNumberOf = cardNumberReader(processor);
  return {
    release: () => slot.release(),
    complete: (completion, timing, about) => {
      const advice = processor.completion!;
      const named = { about, kind: 'completion', number: completion.attempt, timing } as const;
      const message = buildFor(slot, () => advice.build(completion, config));
      return exchange(
        slot,
        { ...named, message },
        (response) => isTrusted(response) && advice.isAcknowledged(response),
      );
    },
    authorize: async (request, timing, about) => {
      const { message, hasPin, pinKeyId } = request as Prepared;
      const gate = hasPin ? pinGate : undefined;
      const mayBeSent = pinKeyId === undefined ? undefined : () => isPinKeyAccepted(pinKeyId);
      return exchange(
        slot,
        { about, kind: 'authorization', number: 1, message, timing, gate, mayBeSent },
        (response, sent) => {
          const outcome = processor.readOutcome(response, sent);
          const fields = fieldsOf(response);
          if (outcome.kind === 'approved') approvals.add(fields, about);
          return {
            outcome,
            settlementDate: isTrusted(response) ? fields.settlementDate : undefined,
            providerFields: providerValues(() => processor.providerFields(response), cardNumberOf(sent)),
          };
        },
      );
    },
    reverse: async (reversal, timing, about) => {
      const named = { about, kind: 'reversal', number: reversal.attempt, timing } as const;
      let message: IsoMessage;
      try {
        message = buildFor(slot, () => processor.reversal(reversal, config));
      } catch (error) {
        // The attempt is committed by now, so the caller must learn that nothing was written.
        reportFault(error, slot.connectionId);
        return { kind: 'failed', written: false, reason: 'MESSAGE_INVALID', connectionId: slot.connectionId };
      }
      const response = await exchange(slot, { ...named, message }, (response) =>
        isTrusted(response) ? processor.readReversalResponse(response) : undefined,
      );
      if (response.kind !== 'responded') return response;
      const { value, connectionId } = response;
      // An untrusted response means nothing, not even a refusal: a refused void would end.
      return value === undefined ? { kind: 'garbled', connectionId } : { kind: 'responded', value, connectionId };
    },
  };
}

/** Builds a message for a slot, and releases the slot if that fails. */
export function buildFor(slot: Pick<Slot<IsoMessage>, 'release'>, build: () => IsoMessage): IsoMessage {
  try {
    return build();
  } catch (error) {
    slot.release();
    throw error;
  }
}

/** The longest message of any dialect, to test an encoding. */
const MAX_MESSAGE_BYTES = 16_384;

/** A request as this folder builds it and receives it back from the caller. */
export interface Prepared extends PreparedRequest {
  readonly message: IsoMessage;
  readonly hasPin: boolean;
  /** The id of the key that the PIN is under. */
  readonly pinKeyId?: string | undefined;
}

/**
 * Builds the requests of one switch and encodes each once as a test, so that a request that cannot be sent is known
 * before anything is committed. All methods throw an Iso8583Error if a value does not fit its field.
 */
export class RequestBuilder {
  readonly #processor: Processor;
  readonly #config: SwitchConfig;
  readonly #codec: Pick<HsmCodec, 'encodeUnsealed'>;
  readonly #scratch = new Uint8Array(MAX_MESSAGE_BYTES);

  constructor(processor: Processor, config: SwitchConfig, codec: Pick<HsmCodec, 'encodeUnsealed'>) {
    this.#processor = processor;
    this.#config = config;
    this.#codec = codec;
  }

  authorization(purchase: Purchase): Prepared {
    const wantsCompletion = this.#processor.completion?.isWanted(this.#config) ?? false;
    const message = this.#processor.authorization(purchase, this.#config);
    return { ...this.#prepared(message, purchase.pin !== undefined), wantsCompletion };
  }

  get takesMandates(): boolean {
    return this.#processor.mandateAuthorization !== undefined;
  }

  /** Only if the processor takes mandates. */
  mandate(purchase: Purchase): Prepared {
    if (!this.#processor.mandateAuthorization) throw new Error('The switch takes no mandates');
    return this.#prepared(this.#processor.mandateAuthorization(purchase, this.#config), purchase.pin !== undefined);
  }

  /** Undefined if the switch takes no refunds. */
  refund(refund: Refund): Prepared | undefined {
    return this.#processor.refund && this.#prepared(this.#processor.refund(refund, this.#config), false);
  }

  #prepared(message: IsoMessage, hasPin: boolean): Prepared {
    try {
      this.#codec.encodeUnsealed(message, this.#scratch, 0);
    } finally {
      this.#scratch.fill(0);
    }
    return { message, hasPin, original: this.#processor.originalData(message) };
  }
}

/**
 * STANs of a business date that no new request gets. Reversals and completions need them if their type gives each its
 * own STAN. Twenty thousand are enough if every tap of a minute at 300 a second is uncertain and reversed.
 */
const RESERVED = 20_000;
const LINES_PER_SECOND = 1;

/**
 * The STANs of one switch. If none is left, this is counted and logged, and its taps end as if no switch were
 * available.
 */
export class SwitchStans {
  readonly #options;
  readonly #budget = new LogBudget(LINES_PER_SECOND);
  #refused = 0;

  constructor(
    options: Pick<AcquirerSwitchOptions, 'acquirerId' | 'processorId' | 'stans' | 'dates' | 'clock' | 'log'>,
  ) {
    this.#options = options;
  }

  /** Messages for which no STAN was left. */
  get refused(): number {
    return this.#refused;
  }

  async next(tid: string | null, use: 'followUp' | undefined): Promise<TakenStan | undefined> {
    const { acquirerId, processorId, stans, dates, clock, log } = this.#options;
    const leaving = use === 'followUp' ? 0 : RESERVED;
    const taken = await stans.next({ acquirerId, tid }, dates.current(acquirerId), leaving);
    if (taken !== undefined) return taken;
    this.#refused++;
    this.#budget.spend(clock.monotonicMs(), (suppressed) =>
      log.warn({ acquirerId, processorId, tid, suppressed }, 'no STAN left before the cut-over, nothing sent'),
    );
    return undefined;
  }
}

/**
 * Sign-on and echoes are rare. This many STANs are kept in reserve, because a connection cannot wait for the
 * database.
 */
const KEPT = 20;
const REFILL_BELOW = 10;

type NextStan = () => Promise<string | undefined>;

/**
 * STANs of network management messages, available without waiting. If no more can be reserved, the last ones are used
 * again.
 */
export class NetworkStans {
  readonly #nextStan: NextStan;
  #ready: string[] = [];
  #next = 0;
  #isFilling = false;
  #isClosed = false;

  private constructor(nextStan: NextStan) {
    this.#nextStan = nextStan;
  }

  static async open(nextStan: NextStan): Promise<NetworkStans> {
    const network = new NetworkStans(nextStan);
    await network.#fill();
    if (network.#ready.length === 0) network.#ready = ['000001'];
    return network;
  }

  next(): string {
    const stan = this.#ready[this.#next++ % this.#ready.length]!;
    if (this.#ready.length - this.#next < REFILL_BELOW) void this.#fill().catch(() => {});
    return stan;
  }

  close(): void {
    this.#isClosed = true;
  }

  async #fill(): Promise<void> {
    if (this.#isFilling || this.#isClosed) return;
    this.#isFilling = true;
    try {
      const fresh: string[] = [];
      while (fresh.length < KEPT) {
        const stan = await this.#nextStan();
        if (stan === undefined) break;
        fresh.push(stan);
      }
      if (fresh.length === 0) return;
      this.#ready = [...this.#ready.slice(this.#next), ...fresh];
      this.#next = 0;
    } finally {
      this.#isFilling = false;
    }
  }
}
