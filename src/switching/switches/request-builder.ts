import type { IsoMessage } from '../../kits/processor-kit/iso-message.ts';
import type { Processor, Purchase, Refund, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import type { PreparedRequest } from '../../payments/ports/switch-ports.ts';
import type { HsmCodec } from './hsm-codec.ts';

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
