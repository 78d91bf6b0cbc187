import { type Masker, maskerOf } from '../../codecs/iso8583/masker.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import { type IsoMessage, messageClass } from '../../kits/processor-kit/iso-message.ts';
import type { ProcessorProtocol } from '../../kits/processor-kit/switch-protocol.ts';
import type { MaskedMessage } from './ports.ts';

/** Sign-on, echo and keys do not belong to a transaction, so people do not search for them. */
const NETWORK_MANAGEMENT = '8';

/**
 * What people may see of each message, copied from its bytes when they are sent and received. No other part of a
 * message is held for people, however long it waits to be stored.
 */
export class MaskedCopies {
  readonly #masker: Masker | undefined;
  /** Keyed by the message, or by the error with which its bytes were refused. Removed together with these. */
  readonly #copies = new WeakMap<object, MaskedMessage>();

  /** @param spec spec of the codec; without one nothing can be masked, and only lengths are kept */
  constructor(spec: Spec | undefined) {
    this.#masker = spec && maskerOf(spec);
  }

  /** Wraps the protocol and copies everything that it reads and writes. */
  around(protocol: ProcessorProtocol): ProcessorProtocol {
    return {
      ...protocol,
      encode: (message, target, offset) => {
        const end = protocol.encode(message, target, offset);
        this.#take(message, target, offset, end);
        return end;
      },
      decode: (bytes, start, end) => {
        try {
          const message = protocol.decode(bytes, start, end);
          this.#take(message, bytes, start, end);
          return message;
        } catch (error) {
          if (error instanceof Error) this.#copies.set(error, end - start);
          throw error;
        }
      },
    };
  }

  /** The copy of a message, or of the bytes refused with that error; undefined if it was neither read nor written. */
  of(messageOrError: unknown): MaskedMessage | undefined {
    return typeof messageOrError === 'object' && messageOrError !== null ? this.#copies.get(messageOrError) : undefined;
  }

  #take(message: IsoMessage, bytes: Uint8Array, start: number, end: number): void {
    if (messageClass(message) === NETWORK_MANAGEMENT) return;
    this.#copies.set(message, this.#masked(bytes, start, end) ?? end - start);
  }

  /** A failure of this diagnostic copy must not fail a tap, even if a field table does not fit the message. */
  #masked(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
    try {
      return this.#masker?.mask(bytes, start, end);
    } catch {
      return undefined;
    }
  }
}
