import type { Socket } from 'node:net';
import { ConnectionError, Iso8583Error } from '../../basics/errors.ts';
import { FrameReader } from '../../codecs/iso8583/network/frame-reader.ts';
import { replyHeaderOf } from '../../codecs/iso8583/network/framing.ts';
import {
  type IsoMessage,
  isResponse,
  type MessageCodec,
  type Processor,
  type SimulatedResponse,
  type WorkingKeyUse,
} from '../../kits/processor-kit/index.ts';
import { ResponseWriter } from './response-writer.ts';
import type { Bank, ConnectionFate, Reaction, SimulatedSession } from './simulated-switch.ts';

/** Most requests without a response from the switch to an acquirer; above this limit it sends no further ones. */
const MAX_ASKED = 256;

/** A response has certainly arrived if its connection stays open this long afterwards. */
const SURE_AFTER_MS = 3_000;
/** An acquirer that could not store a key in time does not respond to it, so that the switch goes on with the former one. */
const AWAITED_MS = 10_000;
/** How long a silent connection stays silent: longer than the deadlines of tests. */
const SILENT_FOR_MS = 8_000;

/**
 * One connection of an acquirer to the simulated switch. It reads frames split at any byte, asks the bank and
 * acts on its reactions; {@link ResponseWriter} writes the responses.
 */
export class SwitchConnection {
  readonly #options;
  readonly #session: SimulatedSession = { isSignedOn: false };
  readonly #responses: ResponseWriter;
  /** Requests of the switch that wait for a response, keyed with their STAN. */
  readonly #asked = new Map<string, (isAccepted: boolean | undefined) => void>();
  #silenceEndsAtMs = 0;

  constructor(options: {
    readonly socket: Socket;
    readonly processor: Processor;
    readonly codec: MessageCodec;
    readonly bank: Bank;
    /** The business day of the switch, YYYYMMDD. */
    readonly settlementDate: () => string;
    /** The acquirer requests a new key. */
    readonly onKeyWanted: (line: SwitchConnection, use: WorkingKeyUse) => void;
    /** The whole switch is unavailable for this long. */
    readonly onOutage: (forMs: number) => void;
    /** Another connection that serves the same terminal, if there is one. */
    readonly otherLine: (line: SwitchConnection, tid: string) => SwitchConnection | undefined;
    /** The switch signs the connection off. */
    readonly onSignOff: (line: SwitchConnection) => void;
    /** Called for unreadable frames and messages, never with their bytes. */
    readonly onBadInput: (reason: string) => void;
  }) {
    this.#options = options;
    const { socket, processor } = options;
    this.#responses = new ResponseWriter(options);
    const frames = new FrameReader(processor.framing, (bytes, start, end) => this.#read(bytes, start, end));
    socket.setNoDelay(true);
    socket.on('data', (chunk: Uint8Array) => this.#readChunk(frames, chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#giveUpAsking());
  }

  get isSignedOn(): boolean {
    return this.#session.isSignedOn;
  }

  serves(tid: string): boolean {
    return this.#session.tids?.has(tid) === true;
  }

  /**
   * Sends a request from the switch. @returns whether the acquirer accepts it; undefined when the connection closes
   * before the response
   */
  ask(request: IsoMessage): Promise<boolean | undefined> {
    return new Promise((resolve) => {
      if (this.#options.socket.destroyed || this.#asked.size >= MAX_ASKED) {
        resolve(undefined);
        return;
      }
      const { processor } = this.#options;
      if (processor.readRequest(request).network === 'signOff') this.#session.isSignedOn = false;
      const key = askedKey(request);
      const timer = setTimeout(() => this.#conclude(key, undefined), AWAITED_MS);
      this.#asked.set(key, (isAccepted) => {
        clearTimeout(timer);
        resolve(isAccepted);
      });
      this.#responses.write(request);
    });
  }

  /** Closes the connection once all written data was sent. */
  end(): void {
    this.#options.socket.destroySoon();
  }

  destroy(): void {
    this.#options.socket.destroy();
  }

  #readChunk(frames: FrameReader, chunk: Uint8Array): void {
    this.#responses.together(() => {
      try {
        frames.push(chunk);
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        frames.stop();
        this.#options.onBadInput(error.message);
        this.#options.socket.end();
      }
    });
    if (this.#responses.isOverfull) this.#options.socket.destroy();
  }

  #read(bytes: Uint8Array, start: number, end: number): void {
    const { codec, onBadInput, processor } = this.#options;
    const header = replyHeaderOf(processor.framing, bytes, start);
    let message: IsoMessage;
    try {
      message = codec.decode(bytes, start, end);
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
      onBadInput(error.message);
      this.#rejectUnreadable(error, header);
      return;
    }
    try {
      if (isResponse(message)) this.#takeResponse(message);
      else this.#takeRequest(message, header);
    } catch (error) {
      this.#reportFault(error);
    }
  }

  #takeRequest(request: IsoMessage, header: Uint8Array | undefined): void {
    const reaction = this.#options.bank.react(request, this.#session);
    if (reaction instanceof Promise)
      reaction.then((completed) => this.#act(request, completed, header)).catch(this.#reportFault);
    else this.#act(request, reaction, header);
  }

  /**
   * A fault in a processor ends only the present message. Only its name is reported, because the text may quote the
   * message.
   */
  readonly #reportFault = (error: unknown): void => {
    this.#options.onBadInput(error instanceof Error ? error.name : 'unknown');
  };

  /** Ignores a response without a request. */
  #takeResponse(response: IsoMessage): void {
    this.#conclude(askedKey(response), this.#options.processor.isNetworkAccepted(response));
  }

  #conclude(key: string, isAccepted: boolean | undefined): void {
    this.#asked.get(key)?.(isAccepted);
    this.#asked.delete(key);
  }

  #giveUpAsking(): void {
    for (const key of [...this.#asked.keys()]) this.#conclude(key, undefined);
  }

  /** Responds with 30 (format error) if enough was readable to build a response. */
  #rejectUnreadable(error: Iso8583Error, header: Uint8Array | undefined): void {
    const read = error.partial as Partial<IsoMessage> | undefined;
    if (typeof read?.mti !== 'string' || isResponse(read as IsoMessage)) return;
    try {
      this.#responses.write(this.#simulate(read as IsoMessage, { responseCode: '30' }), header);
    } catch {
      // Too little was readable to build a response; the fault was already reported.
    }
  }

  #act(request: IsoMessage, reaction: Reaction, header: Uint8Array | undefined): void {
    for (const each of [reaction, ...(reaction.more ?? [])]) this.#actOnce(each.to ?? request, each, header);
  }

  #actOnce(request: IsoMessage, reaction: Reaction, header: Uint8Array | undefined): void {
    if (reaction.response === undefined && reaction.lineFate === undefined) return;
    const act = () => {
      const line = (this.#isFor(reaction) ? undefined : this.#otherLine(request)) ?? this;
      if (reaction.response !== undefined) line.#respond(request, reaction, header);
      if (reaction.lineFate !== undefined) this.#meet(reaction.lineFate);
    };
    if (reaction.delayMs > 0) setTimeout(() => this.#actLate(act), reaction.delayMs).unref();
    else act();
  }

  #isFor({ isElsewhere = false }: Reaction): boolean {
    return !isElsewhere && !this.#options.socket.destroyed;
  }

  #otherLine(request: IsoMessage): SwitchConnection | undefined {
    const { otherLine, processor } = this.#options;
    return otherLine(this, processor.readRequest(request).tid);
  }

  #actLate(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#reportFault(error);
    }
  }

  #meet(fate: ConnectionFate): void {
    if (fate === 'silence') this.#silenceEndsAtMs = performance.now() + SILENT_FOR_MS;
    else if (fate === 'signOff') this.#options.onSignOff(this);
    else this.destroy();
  }

  #respond(request: IsoMessage, reaction: Reaction, header: Uint8Array | undefined): void {
    if (this.#options.socket.destroyed || performance.now() < this.#silenceEndsAtMs) return;
    const response = this.#simulate(request, reaction.response!);
    reaction.distort?.(response);
    this.#responses.writeSpoiled(response, reaction.spoil, header);
    this.#reportSent(reaction.onSent);
    if (reaction.announces) this.#options.onKeyWanted(this, reaction.announces);
    if (reaction.outageMs > 0) {
      this.#responses.flush();
      this.#options.onOutage(reaction.outageMs);
    }
  }

  #simulate(request: IsoMessage, response: SimulatedResponse): IsoMessage {
    const { processor, settlementDate } = this.#options;
    return processor.simulate(request, { settlementDate: settlementDate(), ...response });
  }

  #reportSent(onSent: Reaction['onSent']): void {
    if (onSent === undefined) return;
    onSent(false);
    setTimeout(() => {
      if (!this.#options.socket.destroyed) onSent(true);
    }, SURE_AFTER_MS).unref();
  }
}

function askedKey(message: IsoMessage): string {
  return String(message.stan);
}
