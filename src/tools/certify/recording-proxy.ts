import { EventEmitter, once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { ConnectionError, Iso8583Error } from '../../basics/errors.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import { messageRows } from '../../codecs/iso8583/describe.ts';
import { maskerOf } from '../../codecs/iso8583/masker.ts';
import { FrameReader } from '../../codecs/iso8583/network/frame-reader.ts';
import { prefixBytesOf, trailerBytesOf } from '../../codecs/iso8583/network/framing.ts';
import type { Spec } from '../../codecs/iso8583/spec.ts';
import {
  type IsoMessage,
  isResponse,
  type MessageCodec,
  messageClass,
  type Processor,
  type SwitchConfig,
} from '../../kits/processor-kit/index.ts';
import type { CertificationCase } from './plan.ts';

/** A message without card data. */
export interface MaskedMessage {
  /** Hex of the message without its framing; null if it cannot be masked. */
  readonly hex: string | null;
  readonly fields: readonly MaskedField[];
}

export interface MaskedField {
  readonly path: string;
  readonly name: string;
  readonly value: string;
  readonly withheld: boolean;
}

/** A request with the first response to it, as both passed the proxy. */
export interface RecordedExchange {
  readonly from: 'gateway' | 'host';
  /** `authorization`, `reversal` and so on; a network message has the kind of its function: `echo`. */
  readonly kind: string;
  /** Names of the transaction in the terms of the processor, for the reversal that names its original. */
  readonly key: string;
  readonly originalKey: string | undefined;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly request: MaskedMessage;
  response?: MaskedMessage;
  /** From the request until the response of the host reached the proxy. */
  tookMs?: number;
  fault?: Fault;
}

export type Fault = NonNullable<CertificationCase['fault']>;

/** More than a case causes; older exchanges are dropped, so that memory is limited. */
const MAX_EXCHANGES = 1_000;
/** The gateway has a handful of connections; a host that never closes must not collect more. */
const MAX_LINES = 64;
/** Certainly after the deadline. */
const LATE_BY_MS = 1_000;

/**
 * Stands between a gateway and the host under certification. It passes every frame on unchanged, records it masked,
 * and injects the faults of a plan into the responses of the host.
 */
export class RecordingProxy {
  readonly exchanges: RecordedExchange[] = [];
  /** Messages that do not decode, and responses without a request. */
  unpaired = 0;
  readonly #changes = new EventEmitter().setMaxListeners(0);
  readonly #processor: Processor;
  readonly #codec: MessageCodec;
  readonly #spec: Spec;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #deadlineMs: number;
  readonly #pending = new Map<string, RecordedExchange>();
  readonly #lines = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #server: Server;
  #armed: Fault | undefined;

  private constructor(
    processor: Processor,
    config: SwitchConfig,
    target: { readonly host: string; readonly port: number },
    deadlineMs: number,
  ) {
    this.#processor = processor;
    this.#codec = processor.codec(config);
    this.#spec = this.#codec.spec ?? processor.spec;
    this.#target = target;
    this.#deadlineMs = deadlineMs;
    this.#server = createServer((socket) => this.#join(socket));
    this.#server.maxConnections = MAX_LINES;
  }

  /** @param deadlineMs of the gateway, which a late response misses */
  static async open(
    processor: Processor,
    config: SwitchConfig,
    target: { readonly host: string; readonly port: number },
    deadlineMs: number,
  ): Promise<RecordingProxy> {
    const proxy = new RecordingProxy(processor, config, target, deadlineMs);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The next response to a payment or refund of the gateway has this fault. */
  arm(fault: Fault | undefined): void {
    this.#armed = fault;
  }

  /** Closes every connection; the gateway connects again. */
  cut(): void {
    for (const line of this.#lines) line.destroy();
  }

  /** The first exchange with this property; undefined if none has it within the time, or the signal aborts. */
  async until(
    isWanted: (exchange: RecordedExchange) => boolean,
    withinMs: number,
    signal?: AbortSignal,
  ): Promise<RecordedExchange | undefined> {
    const end = AbortSignal.timeout(withinMs);
    const either = signal ? AbortSignal.any([end, signal]) : end;
    for (;;) {
      const found = this.exchanges.find(isWanted);
      if (found || either.aborted) return found;
      await once(this.#changes, 'change', { signal: either }).catch(() => {});
    }
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  #join(gateway: Socket): void {
    const host = connect(this.#target);
    this.#read(gateway, host, 'gateway');
    this.#read(host, gateway, 'host');
  }

  #read(from: Socket, to: Socket, side: 'gateway' | 'host'): void {
    this.#lines.add(from);
    from.setNoDelay(true);
    from.on('error', () => from.destroy());
    from.on('close', () => {
      this.#lines.delete(from);
      to.destroySoon();
    });
    const { framing } = this.#processor;
    const [before, after] = [prefixBytesOf(framing), trailerBytesOf(framing)];
    const frames = new FrameReader(framing, (bytes, start, end) => {
      const frame = bytes.subarray(start - before, end + after);
      const fault = this.#record(bytes.subarray(start, end), side);
      this.#pass(frame, to, from, fault);
    });
    from.on('data', (chunk: Buffer) => {
      try {
        frames.push(chunk);
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        from.destroy(); // what follows cannot be read
      }
    });
  }

  #pass(frame: Uint8Array, to: Socket, from: Socket, fault: Fault | undefined): void {
    switch (fault) {
      case undefined:
        to.write(frame);
        break;
      case 'duplicate':
        to.write(frame);
        to.write(frame);
        break;
      case 'late': {
        const copy = Uint8Array.from(frame);
        const timer = setTimeout(() => {
          this.#timers.delete(timer);
          if (!to.destroyed) to.write(copy);
        }, this.#deadlineMs + LATE_BY_MS);
        this.#timers.add(timer);
        break;
      }
      case 'cutLine':
        to.destroy();
        from.destroy();
        break;
      case 'noAnswer':
    }
  }

  /** @returns the fault of a response that must have one */
  #record(bytes: Uint8Array, side: 'gateway' | 'host'): Fault | undefined {
    let message: IsoMessage;
    try {
      message = this.#codec.decode(bytes);
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
      this.unpaired++;
      return undefined;
    }
    const pair = this.#pairOf(message, isResponse(message) ? other(side) : side);
    if (!isResponse(message)) {
      const exchange = this.#exchangeOf(message, bytes, side);
      this.#pending.set(pair, exchange);
      this.exchanges.push(exchange);
      if (this.exchanges.length > MAX_EXCHANGES) this.exchanges.shift();
      if (this.#pending.size > MAX_EXCHANGES) this.#pending.delete(this.#pending.keys().next().value!);
      this.#changes.emit('change');
      return undefined;
    }
    const exchange = this.#pending.get(pair);
    if (exchange === undefined) {
      this.unpaired++;
      return undefined;
    }
    this.#pending.delete(pair);
    exchange.response = this.#masked(message, bytes);
    exchange.tookMs = Date.now() - exchange.atMs;
    this.#changes.emit('change');
    return exchange.fault;
  }

  #pairOf(message: IsoMessage, side: string): string {
    const kind = messageClass(message);
    return [side, kind, ...(this.#processor.match[kind] ?? []).map((name) => String(message[name]))].join(' ');
  }

  #exchangeOf(message: IsoMessage, bytes: Uint8Array, from: 'gateway' | 'host'): RecordedExchange {
    const { kind, network, key, originalKey } = this.#processor.readRequest(message);
    const exchange: RecordedExchange = {
      ...{ from, kind: network ?? kind, key, originalKey },
      atMs: Date.now(),
      request: this.#masked(message, bytes),
    };
    if (this.#armed !== undefined && from === 'gateway' && ['authorization', 'refund'].includes(kind)) {
      exchange.fault = this.#armed;
      this.#armed = undefined;
    }
    return exchange;
  }

  #masked(message: IsoMessage, bytes: Uint8Array): MaskedMessage {
    const masked = maskerOf(this.#spec).mask(bytes);
    const fields = messageRows(this.#spec, message).map(({ path, name, value, withheld }) =>
      // The description of an MTI has words after the digits.
      path === 'mti' ? { path, name, value: message.mti, withheld } : { path, name, value, withheld },
    );
    return { hex: masked ? toHex(masked) : null, fields };
  }
}

function other(side: 'gateway' | 'host'): 'gateway' | 'host' {
  return side === 'gateway' ? 'host' : 'gateway';
}
