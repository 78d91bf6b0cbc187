import { openPool, type Pool } from '../connection/pool.ts';
import type { ConnectionLog } from '../connection/pool-options.ts';
import type { Slot } from '../connection/slot.ts';
import { Iso8583Error } from '../errors.ts';
import { messageCodec } from '../processor-kit/message-codec.ts';
import type { IsoMessage, Processor, Purchase, Reversal, SwitchConfig } from '../processor-kit/processor.ts';
import type { ProcessorProfile } from '../processor-kit/profile.ts';
import { profileOf } from '../processor-kit/switch-config.ts';
import { switchProtocol } from '../processor-kit/switch-protocol.ts';
import type {
  PreparedRequest,
  SendTiming,
  Switch,
  SwitchAnswer,
  SwitchSlot,
  TerminalRecord,
} from '../transactions/ports.ts';
import type { ProviderValues } from '../transactions/transaction.ts';
import { NetworkStans } from './network-stans.ts';
import { providerValues } from './provider-values.ts';

/** Where the numbers of DE11 come from: the next one of a scope. */
export interface Stans {
  next(scope: string): Promise<string>;
}

export interface AcquirerSwitchOptions {
  readonly acquirerId: number;
  readonly processorId: number;
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly stans: Stans;
  readonly monotonicMs: () => number;
  readonly nowMs: () => number;
  readonly log: ConnectionLog;
}

/** How long a tap waits for a slot when connections are busy or just coming up: a fraction of what a person at a till bears. */
const WAIT_FOR_SLOT_MS = 2_000;
/** The longest message of any dialect, to try an encoding on. */
const MAX_MESSAGE_BYTES = 16_384;

/** A processor type with an acquirer's configuration, wired to its connections. */
export class AcquirerSwitch implements Switch {
  readonly type: string;
  readonly profile: ProcessorProfile;
  readonly #options: AcquirerSwitchOptions;
  readonly #pool: Pool<IsoMessage>;
  readonly #networkStans: NetworkStans;
  readonly #scratch = new Uint8Array(MAX_MESSAGE_BYTES);
  readonly #codec: ReturnType<typeof messageCodec>;

  private constructor(options: AcquirerSwitchOptions, networkStans: NetworkStans) {
    const { processor, config, acquirerId, processorId } = options;
    this.#options = options;
    this.#networkStans = networkStans;
    this.type = processor.type;
    this.profile = profileOf(processor, config);
    this.#codec = messageCodec(processor, config);
    this.#pool = openPool({
      name: `${acquirerId}-${processorId}-${processor.type}`,
      protocol: switchProtocol(processor, config, { nextStan: () => networkStans.next(), nowMs: options.nowMs }),
      addresses: config.addresses,
      balance: config.balance,
      limits: { inFlight: this.profile.maxInFlight },
      timeouts: { idleEchoMs: this.profile.idleEchoMs },
      log: options.log,
    });
  }

  static async open(options: AcquirerSwitchOptions): Promise<AcquirerSwitch> {
    const scope = `${options.acquirerId} network ${options.processorId}`;
    return new AcquirerSwitch(options, await NetworkStans.open(options.stans, scope));
  }

  get availability(): string {
    return this.#pool.availability;
  }

  get stats() {
    return this.#pool.stats;
  }

  nextStan(tid: string): Promise<string> {
    const { acquirerId, stans } = this.#options;
    return stans.next(this.profile.stanScope === 'terminal' ? `${acquirerId} ${tid}` : `${acquirerId}`);
  }

  async takeSlot(connectionId?: string): Promise<SwitchSlot | undefined> {
    const slot = this.#pool.takeSlot({ connectionId });
    if (slot) return this.#line(slot);
    const untilMs = this.#options.monotonicMs() + WAIT_FOR_SLOT_MS;
    const later = await this.#pool.waitForSlot({ untilMs, connectionId });
    return later && this.#line(later);
  }

  prepare(purchase: Purchase): PreparedRequest & { readonly message: IsoMessage } {
    const { processor, config } = this.#options;
    const message = processor.authorization(purchase, config);
    this.#codec.encode(message, this.#scratch, 0);
    this.#scratch.fill(0);
    return { message, original: processor.originalData(message) };
  }

  providerId(terminal: TerminalRecord): ProviderValues {
    const { processor, config } = this.#options;
    return providerValues(() => processor.providerId(config, terminal));
  }

  async close(deadlineAtMs: number): Promise<void> {
    await this.#pool.close({ deadlineAtMs });
    this.#networkStans.close();
  }

  #line(slot: Slot<IsoMessage>): SwitchSlot {
    const { processor, config } = this.#options;
    return {
      get connectionId() {
        return slot.connectionId;
      },
      release: () => slot.release(),
      authorize: (request, timing) =>
        exchange(slot, (request as ReturnType<AcquirerSwitch['prepare']>).message, timing, (response, sent) => ({
          outcome: processor.readOutcome(response, sent),
          providerFields: providerValues(() => processor.providerFields(response)),
        })),
      reverse: (reversal: Reversal, timing) =>
        exchange(slot, processor.reversal(reversal, config), timing, (response) =>
          processor.readReversalAnswer(response),
        ),
    };
  }
}

async function exchange<Value>(
  slot: Slot<IsoMessage>,
  message: IsoMessage,
  { deadlineMs, sendByMs }: SendTiming,
  read: (response: IsoMessage, request: IsoMessage) => Value,
): Promise<SwitchAnswer<Value>> {
  try {
    const result = await slot.request(message, { deadlineAtMs: deadlineMs, sendByMs });
    if (result.kind === 'answered') return { kind: 'answered', value: read(result.response, message) };
    if (result.kind === 'unreadable') return { kind: 'garbled' };
    return { kind: 'failed', written: result.written, reason: result.reason };
  } catch (error) {
    // A rejection of the slot means that nothing was written: a duplicate key, or a value that does not fit its field.
    return { kind: 'failed', written: false, reason: error instanceof Iso8583Error ? 'MESSAGE_INVALID' : 'REFUSED' };
  }
}
