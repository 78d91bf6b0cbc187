import { parsePin } from '../../codecs/crypto/pin-block.ts';
import {
  messageCodec,
  type NetworkRequestKind,
  type Processor,
  profileOf,
  type SwitchConfig,
} from '../../kits/processor-kit/index.ts';
import { type Behaviour, FaultySwitch } from './behaviour/faulty-switch.ts';
import { PinTries, type TestCard } from './card-accounts.ts';
import { demoHsm } from './demo-hsm.ts';
import { type FaultRates, faultDraw, parseLatency, type Random, seededRandom } from './faults.ts';
import type { CardProfile } from './issuer/chip-card.ts';
import { type ChipVerdict, Issuer } from './issuer/issuer.ts';
import { Ledger, ledgerServer } from './ledger.ts';
import { listen, stopListening } from './listening.ts';
import { type RecordedResponse, Replay } from './scenarios.ts';
import { SimulatedSwitch, type SwitchCounters, type VerifyPin } from './simulated-switch.ts';
import { type SimulatorHsm, SwitchKeys } from './switch-keys.ts';
import { type SimulatorEvent, SwitchServer } from './switch-server.ts';

export type { SimulatorEvent } from './switch-server.ts';

/** Longer than the deadline of the profiles, so that 30.30 gets its response in time. */
const DEMO_DEADLINE_MS = 40_000;

/** The PIN of every simulated card. */
const TEST_PIN = parsePin('12345');

export interface SimulatedProcessor {
  readonly processor: Processor;
  /** The acquirer's configuration: dialect, keys, deadline. Default: `exampleConfig`. */
  readonly config?: SwitchConfig | undefined;
  /**
   * The acquirer's deadline, which late responses miss. Default: that of `config`, otherwise the longest that demos
   * use.
   */
  readonly deadlineMs?: number | undefined;
  /** Responses to give instead of those that the amount selects. Default: none. */
  readonly recording?: readonly RecordedResponse[] | undefined;
  /** 0 selects a free port. */
  readonly port: number;
}

export interface SimulatorOptions {
  readonly processors: readonly SimulatedProcessor[];
  /** What a switch does without a request. */
  readonly echoEveryMs?: number | undefined;
  /** The acquirer signs on again. */
  readonly signOffEveryMs?: number | undefined;
  /** Minutes after midnight UTC of the cut-over to the next business day. Default: no cut-over. */
  readonly cutOverAtMinute?: number | undefined;
  readonly changeKeysEveryMs?: number | undefined;
  /** The same seed produces the same faults and latencies in the same order. */
  readonly seed?: number | undefined;
  /** How many connections each switch accepts at a time. Default: as many as a load test needs. */
  readonly maxSessions?: number | undefined;
  /** Multiplies the times of scenarios. Default: `SIM_TIME_SCALE`, otherwise 1. */
  readonly timeScale?: number | undefined;
  /** Whether an outage (amount 503.00) lasts until `endOutages` instead of ten seconds. */
  readonly areOutagesKept?: boolean | undefined;
  readonly faults?: FaultRates | undefined;
  /** The behaviour of the switches. Default: `correct`. */
  readonly behaviour?: Behaviour | undefined;
  /** Cards whose issuer has an account for them. Default: the amount alone selects the response. */
  readonly cards?: readonly TestCard[] | undefined;
  /** Cards whose issuer verifies their chip data. Default: none, and no chip data are verified. */
  readonly chipCards?: readonly CardProfile[] | undefined;
  /** Whether events about chip data have values, and state what was expected; also of right ones. */
  readonly isExplaining?: boolean | undefined;
  /** In the form that `parseLatency` reads: `8ms`, `lognormal:8ms,p99=40ms`. */
  readonly latency?: string | undefined;
  /** Port of the ledger; 0 selects a free port. Default: the ledger is not served. */
  readonly ledgerPort?: number | undefined;
  readonly host?: string | undefined;
  /** Creates and verifies MACs, opens PIN blocks. Default: an HSM with the demo keys of the configurations. */
  readonly hsm?: SimulatorHsm | undefined;
  /** Called for each refused or unreadable request, and for each outage. */
  readonly onEvent?: ((event: SimulatorEvent) => void) | undefined;
}

export interface Simulator {
  /** The port of each switch, in the order of `processors`. */
  readonly ports: readonly number[];
  readonly ledgerPort: number | undefined;
  readonly ledger: Ledger;
  /** Counters of each switch, in the order of `processors`. */
  counters(): readonly (Readonly<SwitchCounters> & { readonly processor: string; readonly lines: number })[];
  /**
   * Has every switch send a request of its own on each of its lines: an echo, a cut-over. Gives how many lines
   * responded that they accept; a line that closes before has not.
   */
  ask(kind: NetworkRequestKind): Promise<number>;
  /** Has every switch announce new keys, where its configuration has `keyExchange`; gives how many were heard. */
  changeKeys(): Promise<number>;
  /** Has every switch that is down listen again at once. */
  endOutages(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts simulated switches, each on its own port, with one common ledger.
 *
 * @throws SimulatorError `LATENCY_INVALID`, `FAULT_INVALID` or `PORT_TAKEN`; CryptoError `SOFT_HSM_FORBIDDEN` when
 * no `hsm` is given and `TAPWIRE_ENV` is `prod`
 */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { host = '127.0.0.1', seed = 1 } = options;
  const configs = options.processors.map(({ processor, config }) => config ?? processor.exampleConfig);
  const hsm = options.hsm ?? demoHsm(configs, process.env.TAPWIRE_ENV ?? 'dev');
  const ledger = new Ledger(options.cards);
  const pinTries = new PinTries();
  const { chipCards, isExplaining = false } = options;
  const issuer = chipCards && new Issuer(chipCards, isExplaining);
  const switches = options.processors.map((simulated, index) =>
    switchServer(simulated, configs[index]!, {
      ...options,
      hsm,
      ledger,
      pinTries,
      issuer,
      random: seededRandom(seed + index),
    }),
  );
  const books = options.ledgerPort === undefined ? undefined : ledgerServer(ledger, pinTries);
  let stopTimetable = () => {};
  const close = async () => {
    stopTimetable();
    books?.closeAllConnections();
    await Promise.all([...switches.map((server) => server.close()), books && stopListening(books)]);
  };
  try {
    for (const [index, { port }] of options.processors.entries()) await switches[index]!.listen(port, host);
    const ledgerPort = books && (await listen(books, options.ledgerPort!, host));
    const ports = switches.map(({ port }) => port);
    const counters = () => switches.map((server) => server.counters());
    const ask = async (kind: NetworkRequestKind) => {
      const accepted = await Promise.all(switches.map((server) => server.ask(kind)));
      return accepted.reduce((sum, count) => sum + count, 0);
    };
    const changeKeys = async () => {
      const taken = await Promise.all(switches.map((server) => server.changeKeys()));
      return taken.filter(Boolean).length;
    };
    const endOutages = async () => void (await Promise.all(switches.map((server) => server.endOutage())));
    stopTimetable = startTimetable(options, { ask, changeKeys });
    return { ports, ledgerPort, ledger, counters, ask, changeKeys, endOutages, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function switchServer(
  simulated: SimulatedProcessor,
  config: SwitchConfig,
  parts: SimulatorOptions & {
    readonly hsm: SimulatorHsm;
    readonly ledger: Ledger;
    readonly pinTries: PinTries;
    readonly issuer: Issuer | undefined;
    readonly random: Random;
  },
): SwitchServer {
  const { processor, deadlineMs } = simulated;
  const { hsm, ledger, pinTries, issuer, random, areOutagesKept = false, maxSessions, onEvent = () => {} } = parts;
  const keys = new SwitchKeys(processor, config, hsm);
  const deadlineOfAcquirer =
    deadlineMs ?? (simulated.config ? profileOf(processor, config).deadlineMs : DEMO_DEADLINE_MS);
  const honest = new SimulatedSwitch(processor, config, {
    ledger,
    random,
    pinTries,
    replay: simulated.recording && new Replay(simulated.recording),
    faults: faultDraw(parts.faults ?? {}),
    latency: parts.latency === undefined ? undefined : parseLatency(parts.latency),
    deadlineMs: deadlineOfAcquirer,
    timeScale: parts.timeScale ?? timeScaleOfEnvironment(),
    verifyPin: testPinVerifier(hsm, config, keys),
    keys,
    judgeChip: issuer && ((request) => reported(issuer.judge(request), parts, processor)),
    onRefused: (responseCode, reason) => onEvent({ event: 'refused', processor: processor.type, responseCode, reason }),
  });
  const { behaviour = 'correct' } = parts;
  const bank =
    behaviour === 'correct'
      ? honest
      : new FaultySwitch({
          ...{ processor, bank: honest, ledger, random, behaviour, deadlineMs: deadlineOfAcquirer },
          onViolation: (name) => ledger.countViolation(name),
        });
  const codec = messageCodec(processor, config, undefined, keys);
  return new SwitchServer({ processor, config, codec, bank, keys, areOutagesKept, maxSessions, onEvent });
}

/** Reports what the issuer refuses, and what it accepts if that is to be explained. */
function reported(
  verdict: ChipVerdict | undefined,
  { onEvent, isExplaining = false }: SimulatorOptions,
  { type }: Processor,
): ChipVerdict | undefined {
  if (verdict === undefined) return undefined;
  const { responseCode, reason, tags } = verdict;
  const event = responseCode === undefined ? 'chipAccepted' : 'chipRefused';
  if (event === 'chipRefused' || isExplaining) onEvent?.({ event, processor: type, responseCode, reason, tags });
  return verdict;
}

/** Undefined without a PIN key: no PIN block can be opened then, and every PIN is accepted. */
function testPinVerifier(hsm: SimulatorHsm, { pinKey }: SwitchConfig, keys: SwitchKeys): VerifyPin | undefined {
  if (pinKey === undefined) return undefined;
  const { format } = pinKey;
  return async (pin, pan) => {
    const keyId = keys.pinKeyId(pin);
    const { block, ksn } = pin;
    return keyId !== undefined && hsm.verifyPin({ from: { keyId, format, block, ksn }, pan, pin: TEST_PIN });
  };
}

function timeScaleOfEnvironment(): number {
  const scale = Number(process.env.SIM_TIME_SCALE ?? 1);
  return Number.isFinite(scale) && scale > 0 ? scale : 1;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Starts the timers of a timetable. @returns a function that ends them */
export function startTimetable(
  { echoEveryMs, signOffEveryMs, cutOverAtMinute, changeKeysEveryMs }: Omit<SimulatorOptions, 'processors'>,
  {
    ask,
    changeKeys,
  }: {
    readonly ask: (kind: NetworkRequestKind) => Promise<unknown>;
    readonly changeKeys: () => Promise<unknown>;
  },
): () => void {
  const timers = new Set<NodeJS.Timeout>();
  const every = (ms: number | undefined, act: () => Promise<unknown>) => {
    if (ms !== undefined) timers.add(setInterval(() => void act(), ms).unref());
  };
  every(echoEveryMs, () => ask('echo'));
  every(signOffEveryMs, () => ask('signOff'));
  every(changeKeysEveryMs, changeKeys);
  let cutOver: NodeJS.Timeout | undefined;
  const awaitCutOver = (minute: number) => {
    cutOver = setTimeout(
      () => {
        void ask('cutOver');
        awaitCutOver(minute);
      },
      msUntil(minute, Date.now()),
    ).unref();
  };
  if (cutOverAtMinute !== undefined) awaitCutOver(cutOverAtMinute);
  return () => {
    for (const timer of timers) clearInterval(timer);
    clearTimeout(cutOver);
  };
}

/** More than 0: at the minute itself, the time until the next day. */
export function msUntil(minuteOfDay: number, nowMs: number): number {
  const passedMs = nowMs % DAY_MS;
  return ((minuteOfDay * MINUTE_MS - passedMs + DAY_MS - 1) % DAY_MS) + 1;
}
