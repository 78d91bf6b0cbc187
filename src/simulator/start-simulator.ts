import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { SimulatorError } from '../errors.ts';
import { type MacKeys, messageCodec, type Processor, type SwitchConfig } from '../processor-kit/index.ts';
import { type FaultRates, faultDraw } from './faults.ts';
import { parseLatency } from './latency.ts';
import { Ledger } from './ledger.ts';
import { ledgerServer } from './ledger-http.ts';
import { seededRandom } from './random.ts';
import { SimulatedSwitch, type SwitchCounters, type VerifyPin } from './simulated-switch.ts';
import { SwitchLine } from './switch-line.ts';

/** Acquirers keep a handful of connections; a load test may open many. Beyond it, connections are closed at once. */
const MAX_LINES = 4_096;

export interface SimulatedProcessor {
  readonly processor: Processor;
  /** The configuration that the acquirer uses, too: dialect, MAC keys, deadline. `exampleConfig` when absent. */
  readonly config?: SwitchConfig | undefined;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface SimulatorOptions {
  readonly processors: readonly SimulatedProcessor[];
  /** The same seed draws the same faults and latencies in the same order. */
  readonly seed?: number | undefined;
  /** Stretches the times of scenarios; `SIM_TIME_SCALE` when absent, 1 without it. */
  readonly timeScale?: number | undefined;
  readonly faults?: FaultRates | undefined;
  /** As `parseLatency` reads it: `8ms`, `lognormal:8ms,p99=40ms`. */
  readonly latency?: string | undefined;
  /** Absent: the ledger is not served. 0 takes a free port. */
  readonly ledgerPort?: number | undefined;
  readonly host?: string | undefined;
  readonly macKeys?: MacKeys | undefined;
  readonly verifyPin?: VerifyPin | undefined;
  /** One event for each request that was refused or could not be read: names of fields, never values. */
  readonly onEvent?: ((event: SimulatorEvent) => void) | undefined;
}

export interface SimulatorEvent {
  /** `lost`: another program has taken the port while the switch was down. */
  readonly event: 'refused' | 'badInput' | 'outage' | 'recovered' | 'lost';
  readonly processor: string;
  readonly responseCode?: string | undefined;
  readonly reason?: string | undefined;
}

export interface Simulator {
  /** Where each switch listens, in the order of `processors`. */
  readonly ports: readonly number[];
  readonly ledgerPort: number | undefined;
  readonly ledger: Ledger;
  /** Counters of each switch, in the order of `processors`. */
  counters(): readonly (Readonly<SwitchCounters> & { readonly processor: string; readonly lines: number })[];
  close(): Promise<void>;
}

/**
 * Starts simulated switches, each on a port of its own, with one ledger.
 *
 * @throws SimulatorError `LATENCY_INVALID`, `FAULT_INVALID` or `PORT_TAKEN`
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const ledger = new Ledger();
  const switches = options.processors.map((simulated, index) => new SwitchServer(simulated, index, options, ledger));
  const books = options.ledgerPort === undefined ? undefined : ledgerServer(ledger);
  const host = options.host ?? '127.0.0.1';
  const close = async () => {
    await Promise.all([...switches.map((server) => server.close()), books && closeServer(books)]);
  };
  try {
    for (const server of switches) await server.listen(host);
    if (books !== undefined) await listen(books, options.ledgerPort!, host);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    ports: switches.map(({ port }) => port),
    ledgerPort: books === undefined ? undefined : (books.address() as AddressInfo).port,
    ledger,
    counters: () => switches.map((server) => server.counters()),
    close,
  };
}

/** One switch: its port, its lines, and the times when it is down. */
class SwitchServer {
  port: number;
  readonly #processor: Processor;
  readonly #server: Server;
  readonly #lines = new Set<SwitchLine>();
  readonly #bank: SimulatedSwitch;
  readonly #onEvent: (event: SimulatorEvent) => void;
  #host = '';
  #recovery: NodeJS.Timeout | undefined;

  constructor(
    { processor, config, port }: SimulatedProcessor,
    index: number,
    options: SimulatorOptions,
    ledger: Ledger,
  ) {
    const agreed = config ?? processor.exampleConfig;
    this.port = port;
    this.#processor = processor;
    this.#onEvent = options.onEvent ?? (() => {});
    this.#bank = new SimulatedSwitch(processor, agreed, {
      ledger,
      random: seededRandom((options.seed ?? 1) + index),
      faults: faultDraw(options.faults ?? {}),
      latency: options.latency === undefined ? undefined : parseLatency(options.latency),
      timeScale: options.timeScale ?? timeScaleOfEnvironment(),
      verifyPin: options.verifyPin,
      onRefused: (responseCode, reason) =>
        this.#onEvent({ event: 'refused', processor: processor.type, responseCode, reason }),
    });
    const codec = messageCodec(processor, agreed, options.macKeys);
    this.#server = createServer((socket) => this.#accept(socket, codec));
  }

  async listen(host: string): Promise<void> {
    this.#host = host;
    await listen(this.#server, this.port, host);
    this.port = (this.#server.address() as AddressInfo).port;
  }

  counters() {
    return { processor: this.#processor.type, lines: this.#lines.size, ...this.#bank.counters };
  }

  async close(): Promise<void> {
    clearTimeout(this.#recovery);
    for (const line of this.#lines) line.destroy();
    await closeServer(this.#server);
  }

  #accept(socket: Socket, codec: ReturnType<typeof messageCodec>): void {
    if (this.#lines.size >= MAX_LINES) {
      socket.destroy();
      return;
    }
    const processor = this.#processor;
    const line = new SwitchLine({
      socket,
      processor,
      codec,
      bank: this.#bank,
      onOutage: (forMs) => this.#goDown(forMs),
      onBadInput: (reason) => this.#onEvent({ event: 'badInput', processor: processor.type, reason }),
    });
    this.#lines.add(line);
    socket.on('close', () => this.#lines.delete(line));
  }

  /** Closes every line after what is written has left, and refuses new ones until it is over. */
  #goDown(forMs: number): void {
    if (this.#recovery !== undefined) return;
    this.#onEvent({ event: 'outage', processor: this.#processor.type });
    this.#server.close();
    for (const line of this.#lines) line.end();
    this.#recovery = setTimeout(() => {
      this.#recovery = undefined;
      this.#recover();
    }, forMs);
  }

  #recover(): void {
    const processor = this.#processor.type;
    listen(this.#server, this.port, this.#host).then(
      () => this.#onEvent({ event: 'recovered', processor }),
      (error: unknown) => this.#onEvent({ event: 'lost', processor, reason: String(error) }),
    );
  }
}

function timeScaleOfEnvironment(): number {
  const scale = Number(process.env.SIM_TIME_SCALE ?? 1);
  return Number.isFinite(scale) && scale > 0 ? scale : 1;
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException) =>
      reject(new SimulatorError('PORT_TAKEN', `${host}:${port}: ${cause.code}`, { cause }));
    server.once('error', onError);
    server.listen(port, host, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
