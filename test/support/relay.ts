import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { FrameReader } from '../../src/codecs/iso8583/network/frame-reader.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { MessageCodec, Processor } from '../../src/kits/processor-kit/processor.ts';
import { freePort } from './free-port.ts';

/** Called for a request before the switch receives it; the relay passes it on when the result resolves. */
export type OnRequest = (request: IsoMessage) => Promise<void> | void;

/** A relay between gateways and a type 1 switch. It decodes all messages, and closes connections on request. */
export class Relay {
  /** Every financial request and reversal that gateways wrote, in order. */
  readonly requests: IsoMessage[] = [];
  onRequest: OnRequest = () => {};
  readonly #processor: Processor;
  readonly #codec: MessageCodec;
  readonly #targetPort: number;
  readonly #lines = new Set<Socket>();
  readonly #server: Server;

  private constructor(processor: Processor, targetPort: number) {
    this.#processor = processor;
    this.#codec = processor.codec(processor.exampleConfig);
    this.#targetPort = targetPort;
    this.#server = createServer((socket) => this.#join(socket));
  }

  /** Listens on `port`; default: a free port. */
  static async open(targetPort: number, port?: number): Promise<Relay> {
    const relay = new Relay((await loadProcessors()).get('type-1')!, targetPort);
    const chosen = port ?? (await freePort());
    await new Promise<void>((resolve) => relay.#server.listen(chosen, '127.0.0.1', resolve));
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How many requests of a message type, such as `0200`, were received. */
  count(mti: string): number {
    return this.requests.filter((request) => request.mti === mti).length;
  }

  /** Closes every connection at once. Gateways may connect again. */
  cut(): void {
    for (const line of this.#lines) line.destroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  #join(gateway: Socket): void {
    const target = connect(this.#targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [gateway, target],
      [target, gateway],
    ] as const) {
      this.#lines.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#lines.delete(socket);
        other.destroySoon();
      });
    }
    target.pipe(gateway);
    const frames = new FrameReader(this.#processor.framing, (bytes, start, end) => {
      reported = this.#tell(this.#codec.decode(bytes, start, end), reported);
    });
    let reported = Promise.resolve();
    gateway.on('data', (chunk: Buffer) => {
      frames.push(chunk);
      reported = reported.then(() => void target.write(chunk));
    });
  }

  #tell(message: IsoMessage, after: Promise<void>): Promise<void> {
    if (message.mti === '0800') return after;
    this.requests.push(message);
    return after.then(() => this.onRequest(message));
  }
}
