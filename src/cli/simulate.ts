import { isDeepStrictEqual } from 'node:util';
import { LogBudget } from '../basics/limits/log-budget.ts';
import { toHex } from '../codecs/bytes/hex.ts';
import type { SwitchConfig } from '../kits/processor-kit/processor.ts';
import { createLog, type Log } from '../observe/log.ts';
import { demoKeys } from '../tools/simulator/demo-hsm.ts';
import { type Simulator, type SimulatorEvent, startSimulator } from '../tools/simulator/start-simulator.ts';
import { untilAskedToStop } from './command-end.ts';
import { cutTo, type Output, tableOf } from './output.ts';
import { installedTypes } from './plug-ins.ts';
import { readSimulateOptions, type SimulateOptions, startSimulatedHsm } from './simulate-options.ts';

type Counters = ReturnType<Simulator['counters']>;

const EVERY_MS = 1_000;
/** In a file or a pipe: frequent enough to follow a load test, rare enough to read. */
const EVERY_MS_IN_A_FILE = 10_000;

/**
 * Statistics of the switches, one line each. On a terminal the lines are rewritten each second. Elsewhere new lines
 * are added every few seconds when the figures changed.
 */
export class Statistics {
  readonly #output: Output;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #read: () => Counters = () => [];
  #before: Counters = [];
  #previousAtMs = 0;
  /** The lines at the end of the terminal. */
  #shown: readonly string[] = [];

  constructor(output: Output) {
    this.#output = output;
    this.#everyMs = output.isTTY ? EVERY_MS : EVERY_MS_IN_A_FILE;
  }

  start(read: () => Counters): void {
    this.#read = read;
    this.#before = read();
    this.#previousAtMs = performance.now();
    this.#timer = setInterval(() => this.#renew(), this.#everyMs).unref();
  }

  /** Lets other code write lines, which then appear above the statistics. */
  aside(write: () => void): void {
    const shown = this.#shown;
    this.#clear();
    write();
    this.#show(shown);
  }

  /** Writes the figures since the last lines and leaves them in place. */
  stop(): void {
    clearInterval(this.#timer);
    this.#renew();
    this.#shown = [];
  }

  #renew(): void {
    const counters = this.#read();
    const nowMs = performance.now();
    const isNew = !isDeepStrictEqual(counters, this.#before);
    const lines = statisticsLines(counters, this.#before, (nowMs - this.#previousAtMs) / 1_000);
    this.#before = counters;
    this.#previousAtMs = nowMs;
    if (this.#output.isTTY) {
      this.#clear();
      this.#show(lines.map((line) => cutTo(this.#output, line)));
    } else if (isNew) this.#output.write(`${lines.join('\n')}\n`);
  }

  #show(lines: readonly string[]): void {
    if (lines.length > 0) this.#output.write(`${lines.join('\n')}\n`);
    this.#shown = lines;
  }

  /** Returns to the first of the lines and erases everything below (ECMA-48: CPL, ED). */
  #clear(): void {
    if (this.#shown.length > 0) this.#output.write(`\u001b[${this.#shown.length}F\u001b[J`);
    this.#shown = [];
  }
}

/** `type-1  2 connections  120/s  1200 approved  30 declined  2 reversals  1 refused`, for each switch. */
export function statisticsLines(now: Counters, before: Counters, seconds: number): string[] {
  const rows = now.map(({ processor, lines, requests, approved, declined, reversals, refused }, at) => [
    processor,
    `${lines} ${lines === 1 ? 'connection' : 'connections'}`,
    `${Math.round((requests - (before[at]?.requests ?? 0)) / seconds)}/s`,
    `${approved} approved`,
    `${declined} declined`,
    `${reversals} reversals`,
    `${refused} refused`,
  ]);
  return tableOf(rows).split('\n');
}

export { USAGE } from './simulate-options.ts';

/** Thousands of requests can be refused: at most this many are logged per second, with the number of the others. */
const LOG_LINES_PER_SECOND = 20;

const EVENTS: Readonly<Record<SimulatorEvent['event'], string>> = {
  refused: 'request refused',
  badInput: 'bytes received that are not a message',
  outage: 'switch closes its connections and refuses new ones',
  recovered: 'switch accepts connections again',
  lost: 'another program uses the port of the switch',
  keyChanged: 'new key in use',
  keyNotChanged: 'acquirer did not accept a new key',
  chipRefused: 'chip data refused',
  chipAccepted: 'chip data accepted',
};

/**
 * `tapwire simulate`: independent switches of any mix of types, for any terminal software. The amount selects the
 * response; the flags select additional faults.
 */
export async function run(args: string[]): Promise<void> {
  const types = await installedTypes();
  const options = readSimulateOptions(args, types);
  const stopping = untilAskedToStop();
  const statistics = new Statistics(process.stdout);
  const tell = teller(createLog('info', 'switch'));
  const configs = configsOf(options);
  const simulator = await startSimulator({ ...options, onEvent: (event) => statistics.aside(() => tell(event)) });
  const devices = await startSimulatedHsm(options.simulatedHsm, options.host, configs).catch(async (error) => {
    await simulator.close();
    throw error;
  });
  introduce(options, configs, simulator);
  statistics.start(() => simulator.counters());
  await stopping;
  statistics.stop();
  await Promise.all([simulator.close(), devices.close()]);
}

function configsOf({ processors }: SimulateOptions): SwitchConfig[] {
  return processors.map(({ processor, config }) => config ?? processor.exampleConfig);
}

function introduce(
  { processors, host }: SimulateOptions,
  configs: readonly SwitchConfig[],
  { ports, ledgerPort }: Simulator,
): void {
  processors.forEach(({ processor }, at) => {
    console.log(`${processor.name} listens on ${host}:${ports[at]}`);
  });
  for (const { keyId, usage, algorithm, bytes } of demoKeys(configs)) {
    const key = bytes.reveal();
    const kind = `${algorithm === 'tdes' ? 'DES' : 'AES'}, ${key.length} bytes`;
    console.log(`key ${keyId} (${usage}, ${kind}, for simulation only): ${toHex(key)}`);
  }
  console.log(`ledger: http://${host}:${ledgerPort}/ledger`);
  console.log(`to forget wrong PINs: curl -X DELETE http://${host}:${ledgerPort}/pin-tries`);
}

/** Logs fields and codes, never values. */
function teller(log: Log): (event: SimulatorEvent) => void {
  const budget = new LogBudget(LOG_LINES_PER_SECOND);
  return ({ event, ...details }) =>
    budget.spend(performance.now(), (suppressed) => {
      const level = event === 'chipAccepted' ? 'info' : 'warn';
      log[level]({ event, ...details, ...(suppressed > 0 && { suppressed }) }, EVENTS[event]);
    });
}
