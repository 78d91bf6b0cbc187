import { type Masker, maskerOf } from '../iso8583/masker.ts';
import type { Spec } from '../iso8583/spec.ts';
import type { IsoMessage } from '../processor-kit/iso-message.ts';
import { messageClass } from '../processor-kit/mti.ts';
import type { ProcessorProtocol } from '../processor-kit/switch-protocol.ts';
import type { MaskedMessage } from './ports.ts';

/** Sign-on, echo, keys: nobody looks for these by a transaction. */
const NETWORK_MANAGEMENT = '8';

/**
 * What people may see of each message, taken from its bytes where they leave and where they come in. So nothing else of a
 * message is held for people, however long it waits until it is written down.
 */
export class MaskedCopies {
  readonly #masker: Masker | undefined;
  /** By the message, or by the error that its bytes were refused with. Gone when these are. */
  readonly #copies = new WeakMap<object, MaskedMessage>();

  /** @param spec that of the codec; without one nothing can be masked, and lengths are taken */
  constructor(spec: Spec | undefined) {
    this.#masker = spec && maskerOf(spec);
  }

  /** The protocol, with a copy taken of everything that it reads and writes. */
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

  /** Of a message, or of what was refused with that error; undefined for what was neither read nor written. */
  of(messageOrError: unknown): MaskedMessage | undefined {
    return typeof messageOrError === 'object' && messageOrError !== null ? this.#copies.get(messageOrError) : undefined;
  }

  #take(message: IsoMessage, bytes: Uint8Array, start: number, end: number): void {
    if (messageClass(message) === NETWORK_MANAGEMENT) return;
    this.#copies.set(message, this.#masked(bytes, start, end) ?? end - start);
  }

  /** What people could see later is no reason for a tap to fail, whatever a field table makes of a message. */
  #masked(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
    try {
      return this.#masker?.mask(bytes, start, end);
    } catch {
      return undefined;
    }
  }
}
