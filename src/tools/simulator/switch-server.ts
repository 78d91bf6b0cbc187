import { createServer, type Server, type Socket } from 'node:net';
import type {
  MessageCodec,
  MessageStamp,
  NetworkRequestKind,
  Processor,
  SwitchConfig,
  WorkingKeyUse,
} from '../../kits/processor-kit/index.ts';
import { listen, stopListening } from './listening.ts';
import type { Bank, SwitchCounters } from './simulated-switch.ts';
import { SwitchConnection } from './switch-connection.ts';
import type { SwitchKeys } from './switch-keys.ts';

const DAY_MS = 86_400_000;

/**
 * The business day of a simulated switch, which is in its responses (DE15). It begins with the present date in UTC and
 * changes at a cut-over only: it does not depend on the clocks of terminals.
 */
export class BusinessDay {
  #startMs: number;

  constructor(nowMs = Date.now()) {
    this.#startMs = startOfDay(nowMs);
  }

  /** YYYYMMDD. */
  get date(): string {
    return new Date(this.#startMs).toISOString().slice(0, 10).replaceAll('-', '');
  }

  /** The next day begins; after days without a cut-over, that of the present date. */
  cutOver(nowMs = Date.now()): void {
    this.#startMs = Math.max(this.#startMs + DAY_MS, startOfDay(nowMs));
  }
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

/** Acquirers keep a few connections; a load test can open many. Further connections are closed at once. */
const MAX_CONNECTIONS = 4_096;

const MAX_STAN = 999_999;

export interface SimulatorEvent {
  /** `lost`: another program took the port during an outage. */
  readonly event:
    | 'refused'
    | 'badInput'
    | 'outage'
    | 'recovered'
    | 'lost'
    | 'keyChanged'
    | 'keyNotChanged'
    | 'chipRefused'
    | 'chipAccepted';
  readonly processor: string;
  readonly responseCode?: string | undefined;
  /** Names of fields and offsets, never values. */
  readonly reason?: string | undefined;
  /** Of chip data that are explained: values that identify no card, as hex by tag. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** One simulated switch on the network: its port, its connections, and its outages. */
export class SwitchServer {
  readonly #options;
  readonly #server: Server;
  readonly #connections = new Set<SwitchConnection>();
  readonly #day = new BusinessDay();
  #stan = 0;
  #port = 0;
  #host = '';
  #isDown = false;
  #recovery: NodeJS.Timeout | undefined;

  constructor(options: {
    readonly processor: Processor;
    readonly config: SwitchConfig;
    readonly codec: MessageCodec;
    readonly bank: Bank;
    readonly keys: SwitchKeys;
    /** Whether an outage lasts until `endOutage` instead of the time of its scenario. */
    readonly areOutagesKept: boolean;
    /** How many connections are accepted at a time; further ones are closed at once. Default: as many as a load test needs. */
    readonly maxSessions?: number | undefined;
    readonly onEvent: (event: SimulatorEvent) => void;
  }) {
    this.#options = options;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  get port(): number {
    return this.#port;
  }

  /** @throws SimulatorError `PORT_TAKEN` */
  async listen(port: number, host: string): Promise<void> {
    this.#host = host;
    this.#port = await listen(this.#server, port, host);
  }

  counters(): SwitchCounters & { readonly processor: string; readonly lines: number } {
    const { processor, bank } = this.#options;
    return { processor: processor.type, lines: this.#connections.size, ...bank.counters };
  }

  /** Sends a request from the switch on every connection; a cut-over begins its next day. @returns how many accepted it */
  async ask(kind: NetworkRequestKind): Promise<number> {
    const { processor, config } = this.#options;
    if (kind === 'cutOver') this.#day.cutOver();
    const responses = await Promise.all(
      Array.from(this.#connections, (connection) => {
        const request = processor.networkRequest(kind, this.#nextStamp(), config);
        return request === undefined ? false : connection.ask(request);
      }),
    );
    return responses.filter(Boolean).length;
  }

  /**
   * Announces a new key for each exchanged use, on one connection. @returns whether the acquirer accepted all of
   * them
   */
  async changeKeys(): Promise<boolean> {
    const connection = [...this.#connections].find(({ isSignedOn }) => isSignedOn);
    if (!connection) return false;
    let areTaken = true;
    for (const use of this.#options.keys.exchanged) areTaken = (await this.#changeKey(connection, use)) && areTaken;
    return areTaken;
  }

  async #signOff(connection: SwitchConnection): Promise<void> {
    const { processor, config } = this.#options;
    const request = processor.networkRequest('signOff', this.#nextStamp(), config);
    if (request !== undefined) await connection.ask(request);
  }

  async #changeKey(connection: SwitchConnection, use: WorkingKeyUse): Promise<boolean> {
    const { keys, processor, onEvent } = this.#options;
    // Without a new key the previous ones remain in use; this is reported for any reason of the HSM.
    const isTaken = await keys
      .change(use, this.#nextStamp(), (announcement) => connection.ask(announcement))
      .catch(() => false);
    onEvent({ event: isTaken ? 'keyChanged' : 'keyNotChanged', processor: processor.type, reason: use });
    return isTaken;
  }

  #nextStamp(): MessageStamp {
    this.#stan = (this.#stan % MAX_STAN) + 1;
    return { stan: String(this.#stan).padStart(6, '0'), sentAtMs: Date.now() };
  }

  async close(): Promise<void> {
    clearTimeout(this.#recovery);
    this.#options.keys.close();
    for (const connection of this.#connections) connection.destroy();
    await stopListening(this.#server);
  }

  #accept(socket: Socket): void {
    if (this.#connections.size >= (this.#options.maxSessions ?? MAX_CONNECTIONS)) {
      socket.destroy();
      return;
    }
    const { processor, codec, bank, onEvent } = this.#options;
    const connection = new SwitchConnection({
      socket,
      processor,
      codec,
      bank,
      settlementDate: () => this.#day.date,
      onKeyWanted: (asking, use) => void this.#changeKey(asking, use),
      onOutage: (forMs) => this.#goDown(forMs),
      otherLine: (own, tid) =>
        [...this.#connections].find((other) => other !== own && other.isSignedOn && other.serves(tid)),
      onSignOff: (own) => void this.#signOff(own),
      onBadInput: (reason) => onEvent({ event: 'badInput', processor: processor.type, reason }),
    });
    this.#connections.add(connection);
    socket.on('close', () => this.#connections.delete(connection));
  }

  /** Closes every connection after all written data was sent, and refuses new ones until the outage is over. */
  #goDown(forMs: number): void {
    if (this.#isDown) return;
    const { processor, onEvent, areOutagesKept } = this.#options;
    this.#isDown = true;
    onEvent({ event: 'outage', processor: processor.type });
    this.#server.close();
    for (const connection of this.#connections) connection.end();
    if (!areOutagesKept) this.#recovery = setTimeout(() => void this.endOutage(), forMs);
  }

  /** Listens again after an outage. If another program has taken the port, this is reported as `lost`. */
  async endOutage(): Promise<void> {
    if (!this.#isDown) return;
    const { processor, onEvent } = this.#options;
    clearTimeout(this.#recovery);
    this.#isDown = false;
    await listen(this.#server, this.#port, this.#host).then(
      () => onEvent({ event: 'recovered', processor: processor.type }),
      (error: unknown) => onEvent({ event: 'lost', processor: processor.type, reason: String(error) }),
    );
  }
}
