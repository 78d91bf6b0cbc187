import { HsmDeviceError, type HsmDeviceErrorCode } from '../../../basics/errors.ts';
import {
  dialSwitch,
  type SwitchAddress,
  type SwitchSocket,
  type SwitchTls,
} from '../../../switching/connection/switch-socket.ts';
import { errorName, FieldFault, FieldReader, type HostCommand, NO_ERROR, responseCodeOf } from '../host-command.ts';

/** The largest I/O buffer of a device (NO, I/O buffer size 3). */
export const MAX_FRAME_BYTES = 32_768;

/** A length that no message can have. The bytes that follow cannot be divided into messages. */
export class FrameFault extends Error {}

/** Divides a byte stream into messages. It holds at most one incomplete message. */
export class FrameReader {
  readonly #leastBytes: number;
  #lengthHigh: number | undefined;
  #message: Uint8Array | undefined;
  #filled = 0;

  /** @param leastBytes a shorter message is a fault */
  constructor(leastBytes: number) {
    this.#leastBytes = leastBytes;
  }

  /**
   * Calls back with each message that is complete.
   *
   * @throws FrameFault
   */
  read(chunk: Uint8Array, onMessage: (message: Uint8Array) => void): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#message === undefined) this.#readLength(chunk[at++]!);
      else at += this.#fill(chunk.subarray(at));
      if (this.#message?.length === this.#filled) onMessage(this.#take(this.#message));
    }
  }

  #readLength(byte: number): void {
    if (this.#lengthHigh === undefined) {
      this.#lengthHigh = byte;
      return;
    }
    const length = (this.#lengthHigh << 8) | byte;
    this.#lengthHigh = undefined;
    if (length < this.#leastBytes || length > MAX_FRAME_BYTES) throw new FrameFault(`a length of ${length}`);
    this.#message = new Uint8Array(length);
    this.#filled = 0;
  }

  #fill(rest: Uint8Array): number {
    const message = this.#message!;
    const part = rest.subarray(0, message.length - this.#filled);
    message.set(part, this.#filled);
    this.#filled += part.length;
    return part.length;
  }

  #take(message: Uint8Array): Uint8Array {
    this.#message = undefined;
    return message;
  }
}

/** @param parts together at most MAX_FRAME_BYTES bytes */
export function frameOf(...parts: readonly Uint8Array[]): Uint8Array {
  const lengthBytes = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Uint8Array.of(lengthBytes >> 8, lengthBytes & 0xff), ...parts]);
}

/** Response Code and Error Code follow the header. */
const CODE_CHARS = 2;
const RESPONSE_CHARS_LEAST = 2 * CODE_CHARS;

/** After this time a late response will not arrive any longer, and its place must become free. */
const LATE_RESPONSE_MS = 10_000;

interface Outstanding {
  readonly command: HostCommand<unknown>;
  readonly sentAtMs: number;
  /** Undefined after the time limit: the response is expected, but not of use. */
  settle: ((error: HsmDeviceError | undefined, result?: unknown) => void) | undefined;
  timer: NodeJS.Timeout;
}

/**
 * One connection to a device. Commands are pipelined, and each has its own message header, which the device returns
 * unchanged (Message Header, m A). A response is taken only for the command with its header and response code.
 */
export class DeviceConnection {
  readonly #options;
  readonly #socket: SwitchSocket;
  readonly #frames: FrameReader;
  readonly #outstanding = new Map<string, Outstanding>();
  readonly #connectTimer: NodeJS.Timeout;
  readonly #mostOutstanding: number;
  #state: 'connecting' | 'ready' | 'closed' = 'connecting';
  #lastHeader = 0;
  #lastReadAtMs = 0;

  constructor(options: {
    /** Name of the device, for errors. */
    readonly name: string;
    readonly address: SwitchAddress;
    readonly tls?: SwitchTls | undefined;
    /** The length that the device is configured with (console command CH). Without a header, one command is outstanding. */
    readonly headerLength: number;
    /** Commands without a response, those that timed out included. */
    readonly mostOutstanding: number;
    readonly connectTimeoutMs: number;
    readonly onOpen: () => void;
    /** A response has arrived, so another command can be sent. */
    readonly onFree: () => void;
    /** @param withoutResponse the number of commands that failed with the connection */
    readonly onClosed: (error: HsmDeviceError, withoutResponse: number) => void;
  }) {
    this.#options = options;
    this.#mostOutstanding = options.headerLength === 0 ? 1 : Math.min(options.mostOutstanding, headersOf(options));
    this.#frames = new FrameReader(options.headerLength + RESPONSE_CHARS_LEAST);
    this.#socket = dialSwitch(options.address, options.tls);
    this.#connectTimer = setTimeout(() => this.#end('UNREACHABLE', 'connect timeout'), options.connectTimeoutMs);
    this.#connectTimer.unref();
    const { stream } = this.#socket;
    stream.unref(); // A command has a timer, which keeps the process alive until its response.
    this.#socket.whenOpen(() => this.#open());
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('error', (error: NodeJS.ErrnoException) => this.#end(this.#lossCode(), error.code ?? error.name));
    stream.on('close', () => this.#end(this.#lossCode(), 'closed'));
  }

  get state(): 'connecting' | 'ready' | 'closed' {
    return this.#state;
  }

  get outstanding(): number {
    return this.#outstanding.size;
  }

  get canSend(): boolean {
    return this.#state === 'ready' && this.#outstanding.size < this.#mostOutstanding;
  }

  /**
   * Sends a command; only if `canSend`.
   *
   * @throws HsmDeviceError
   */
  send<Result>(command: HostCommand<Result>, timeoutMs: number): Promise<Result> {
    const header = this.#nextHeader();
    const sent = new Promise<Result>((resolve, reject) => {
      const timer = setTimeout(() => this.#giveUp(header), timeoutMs);
      this.#outstanding.set(header, {
        command,
        sentAtMs: performance.now(),
        settle: (error, result) => (error === undefined ? resolve(result as Result) : reject(error)),
        timer,
      });
    });
    this.#socket.stream.write(frameOf(Buffer.from(header + command.code, 'latin1'), command.body));
    return sent;
  }

  /** Rejects what is outstanding. */
  close(): void {
    this.#end('CLOSED', 'closed');
  }

  #open(): void {
    if (this.#state !== 'connecting') return;
    clearTimeout(this.#connectTimer);
    this.#state = 'ready';
    this.#options.onOpen();
  }

  #read(chunk: Uint8Array): void {
    this.#lastReadAtMs = performance.now();
    try {
      this.#frames.read(chunk, (message) => {
        if (this.#state !== 'closed') this.#receive(message);
      });
    } catch (error) {
      if (!(error instanceof FrameFault)) throw error;
      this.#end('FRAME_INVALID', error.message);
    }
  }

  /**
   * A header that is not outstanding means that device and gateway disagree about which response is whose. The connection
   * ends: a PIN block of another card must not be taken.
   */
  #receive(message: Uint8Array): void {
    const { headerLength } = this.#options;
    const head = Buffer.from(message.buffer, message.byteOffset, headerLength + RESPONSE_CHARS_LEAST).toString(
      'latin1',
    );
    const header = head.substring(0, headerLength);
    const outstanding = this.#outstanding.get(header);
    const responseCode = head.substring(headerLength, headerLength + CODE_CHARS);
    if (outstanding === undefined || responseCode !== responseCodeOf(outstanding.command.code)) {
      this.#end('FRAME_INVALID', outstanding === undefined ? 'unknown message header' : 'another response code');
      return;
    }
    this.#outstanding.delete(header);
    clearTimeout(outstanding.timer);
    const errorCode = head.substring(headerLength + CODE_CHARS);
    outstanding.settle?.(...this.#resultOf(outstanding.command, errorCode, message.subarray(head.length)));
    this.#options.onFree();
  }

  #resultOf(
    command: HostCommand<unknown>,
    errorCode: string,
    fields: Uint8Array,
  ): [HsmDeviceError | undefined, unknown?] {
    const where = `${this.#options.name}, ${command.code}`;
    if (errorCode !== NO_ERROR && !command.readableErrors?.includes(errorCode)) {
      const code = /^[0-9A-Z]{2}$/.test(errorCode) ? errorCode : '??';
      return [new HsmDeviceError('REFUSED', `${where}, ${code}: ${errorName(code)}`, code)];
    }
    try {
      return [undefined, command.read(new FieldReader(fields), errorCode)];
    } catch (cause) {
      if (!(cause instanceof FieldFault)) throw cause;
      return [new HsmDeviceError('RESPONSE_INVALID', where, undefined, { cause })];
    }
  }

  /**
   * After the time limit of a command its header remains taken, so that a late response is not given to another command.
   * If nothing was read since the command was sent, the connection is dead. If the response stays out, the connection is
   * replaced, so that lost responses do not use up its places.
   */
  #giveUp(header: string): void {
    const outstanding = this.#outstanding.get(header)!;
    const { settle, command, sentAtMs } = outstanding;
    outstanding.settle = undefined;
    settle?.(new HsmDeviceError('TIMEOUT', `${this.#options.name}, ${command.code}`));
    if (this.#options.headerLength === 0 || this.#lastReadAtMs < sentAtMs) this.#end('CONNECTION_LOST', 'silent');
    else
      outstanding.timer = setTimeout(() => this.#end('CONNECTION_LOST', 'response missing'), LATE_RESPONSE_MS).unref();
  }

  #nextHeader(): string {
    const { headerLength } = this.#options;
    if (headerLength === 0) return '';
    let header: string;
    do {
      this.#lastHeader = (this.#lastHeader + 1) % headersOf(this.#options);
      header = this.#lastHeader.toString(16).toUpperCase().padStart(headerLength, '0');
    } while (this.#outstanding.has(header));
    return header;
  }

  #lossCode(): HsmDeviceErrorCode {
    return this.#state === 'connecting' ? 'UNREACHABLE' : 'CONNECTION_LOST';
  }

  #end(code: HsmDeviceErrorCode, detail: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    clearTimeout(this.#connectTimer);
    this.#socket.destroy();
    const error = new HsmDeviceError(code, `${this.#options.name}, ${detail}`);
    const withoutResponse = [...this.#outstanding.values()];
    this.#outstanding.clear();
    for (const { settle, timer } of withoutResponse) {
      clearTimeout(timer);
      settle?.(error);
    }
    this.#options.onClosed(error, withoutResponse.length);
  }
}

/** Headers are hex counters. Eight digits are more than a connection can have outstanding. */
function headersOf({ headerLength }: { readonly headerLength: number }): number {
  return 16 ** Math.min(headerLength, 8);
}
