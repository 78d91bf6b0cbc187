import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import tls from 'node:tls';
import { FrameReader } from '../../src/codecs/iso8583/network/frame-reader.ts';
import type { IsoMessage } from '../../src/kits/processor-kit/iso-fields.ts';
import { loadProcessors } from '../../src/kits/processor-kit/load-processors.ts';
import type { MacKeys } from '../../src/kits/processor-kit/mac-rule.ts';
import { messageCodec } from '../../src/kits/processor-kit/message-codec.ts';
import type {
  MessageCodec,
  Processor,
  SimulatedResponse,
  SwitchConfig,
} from '../../src/kits/processor-kit/processor.ts';
import { eventually } from './eventually.ts';
import { frameOf } from './frame-of.ts';
import { freePort } from './free-port.ts';

/** A connection to the switch, in order of acceptance. */
export interface ScriptedLine {
  readonly number: number;
  readonly socket: Socket;
}

/** A received request. A test responds to it at any time, on any connection. */
export interface ReceivedRequest {
  readonly message: IsoMessage;
  readonly line: ScriptedLine;
  respond(response?: Partial<SimulatedResponse>, how?: ResponseOptions): void;
}

export interface ResponseOptions {
  /** A connection other than the request's. */
  readonly on?: ScriptedLine | undefined;
  readonly isMacSpoilt?: boolean | undefined;
  /** Changes the response before it is encoded. */
  readonly change?: ((response: IsoMessage) => void) | undefined;
}

export interface ScriptedSwitchOptions {
  /** Instead of plain TCP. */
  readonly server?: Server | undefined;
  /** Default: type 1. */
  readonly processor?: Processor | undefined;
  /** The dialect and the agreed keys. */
  readonly config?: SwitchConfig | undefined;
  readonly macKeys?: MacKeys | undefined;
}

const APPROVED: SimulatedResponse = { responseCode: '00', authorizationCode: '123456' };

/** A type 1 switch that a test controls message by message. Session messages receive a response according to the protocol. */
export class ScriptedSwitch {
  /** Every received authorization and reversal, in order. */
  readonly requests: ReceivedRequest[] = [];
  readonly signOns: ReceivedRequest[] = [];
  /** Responses to the switch's own requests. */
  readonly responses: IsoMessage[] = [];
  readonly lines: ScriptedLine[] = [];
  /** Whether it leaves session messages without a response: connections are then open but never signed on. */
  isDeaf = false;
  /** Called for each request; default: approves and acknowledges everything. */
  onRequest: (request: ReceivedRequest) => void = (request) => request.respond();
  readonly #processor: Processor;
  readonly #codec: MessageCodec;
  readonly #server: Server;
  readonly #taken = new Set<ReceivedRequest>();

  private constructor(processor: Processor, { server = createServer(), config, macKeys }: ScriptedSwitchOptions) {
    this.#processor = processor;
    this.#codec = messageCodec(processor, config ?? processor.exampleConfig, macKeys);
    this.#server = server;
    server.on(server instanceof tls.Server ? 'secureConnection' : 'connection', (socket) => this.#join(socket));
  }

  static async open(options: ScriptedSwitchOptions = {}): Promise<ScriptedSwitch> {
    const scripted = new ScriptedSwitch(options.processor ?? (await loadProcessors()).get('type-1')!, options);
    await scripted.listenAgain(await freePort());
    return scripted;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Uses a socket that this side has opened as a connection. */
  join(socket: Socket): void {
    this.#join(socket);
  }

  of(mti: string): ReceivedRequest[] {
    return this.requests.filter(({ message }) => message.mti === mti);
  }

  /** The first received request of a message type that no test has taken yet. @throws if no such request was received */
  take(mti: string): ReceivedRequest {
    const found = this.of(mti).find((each) => !this.#taken.has(each));
    if (!found) throw new Error(`no ${mti} has come`);
    this.#taken.add(found);
    return found;
  }

  /** As `take`, but waits for the request. */
  next(mti: string): Promise<ReceivedRequest> {
    return eventually(() => this.take(mti));
  }

  /** From now on the test responds to requests of these types; the switch approves or acknowledges all others. */
  hold(...mtis: string[]): void {
    this.onRequest = (request) => {
      if (!mtis.includes(request.message.mti)) request.respond();
    };
  }

  /** From now on it has received no request, and approves or acknowledges everything. Connections remain. */
  forget(): void {
    this.requests.length = 0;
    this.#taken.clear();
    this.hold();
  }

  /** Sends a request of the switch on a connection. */
  send(line: ScriptedLine, message: IsoMessage, isMacSpoilt = false): void {
    this.#write(line, message, isMacSpoilt);
  }

  /** Closes every connection, or one. Gateways may connect again. */
  cut(line?: ScriptedLine): void {
    for (const { socket } of line ? [line] : [...this.lines]) socket.destroy();
  }

  /** Refuses new connections from now on. */
  async stopListening(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  async listenAgain(port: number): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.stopListening();
    this.cut();
  }

  #join(socket: Socket): void {
    const line: ScriptedLine = { number: this.lines.length + 1, socket };
    this.lines.push(line);
    socket.on('error', () => socket.destroy());
    const frames = new FrameReader(this.#processor.framing, (bytes, start, end) => {
      this.#read(this.#codec.decode(bytes, start, end), line);
    });
    socket.on('data', (chunk: Buffer) => frames.push(chunk));
  }

  #read(message: IsoMessage, line: ScriptedLine): void {
    const request: ReceivedRequest = {
      message,
      line,
      respond: (response = {}, how = {}) => this.#respond(message, { ...APPROVED, ...response }, { on: line, ...how }),
    };
    if (message.mti === '0800') {
      if (this.#processor.readRequest(message).network === 'signOn') this.signOns.push(request);
      if (!this.isDeaf) request.respond({ authorizationCode: undefined });
    } else if (message.mti === '0810') {
      this.responses.push(message);
    } else {
      this.requests.push(request);
      this.onRequest(request);
    }
  }

  #respond(
    request: IsoMessage,
    content: SimulatedResponse,
    { on, change, isMacSpoilt = false }: ResponseOptions,
  ): void {
    const response = this.#processor.simulate(request, content);
    change?.(response);
    this.#write(on!, response, isMacSpoilt);
  }

  #write({ socket }: ScriptedLine, message: IsoMessage, isMacSpoilt = false): void {
    const { framing, mac } = this.#processor;
    const bytes = new Uint8Array(framing.maxFrameBytes);
    const end = this.#codec.encode(message, bytes, 0);
    if (isMacSpoilt) for (let at = end - mac!.lengthBytes; at < end; at++) bytes[at]! ^= 0xff;
    socket.write(frameOf(framing, bytes.subarray(0, end)));
  }
}
