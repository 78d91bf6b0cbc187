import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeSystemError } from '../basics/errors/system-error.ts';
import { MoneyError, StartError } from '../basics/errors.ts';
import { DEMO_READER_KEY, demoKey } from '../codecs/crypto/soft-hsm.ts';
import type { Processor, SwitchConfig } from '../kits/processor-kit/processor.ts';
import { keyExchangeConfig } from '../kits/processor-kit/switch-config.ts';
import { parseBehaviour } from '../tools/simulator/behaviour/faulty-switch.ts';
import { CardAccount, type TestCard, testCards } from '../tools/simulator/card-accounts.ts';
import { demoKeys } from '../tools/simulator/demo-hsm.ts';
import { FAULT_KINDS, type FaultKind, type FaultRates, parseShare } from '../tools/simulator/faults.ts';
import { type DemoDevices, demoLmkKeys, startDemoDevices } from '../tools/simulator/hsm/simulated-payshield.ts';
import type { LmkForm } from '../tools/simulator/hsm/test-lmk.ts';
import { type CardProfile, cardProfiles, TEST_CARDS } from '../tools/simulator/issuer/chip-card.ts';
import { readRecording } from '../tools/simulator/scenarios.ts';
import type { SimulatedProcessor, SimulatorOptions } from '../tools/simulator/start-simulator.ts';
import { fitting, flag, readJson, readText, readWords, text, texts } from './arguments.ts';

const HSM_USAGE = `  --hsm-file FILE        write the configuration of the simulated devices (hsm=PORT) for HSM_MODULE, FILE ends in .json
  --hsm-lmk FORM         variant | keyBlock: how the devices protect keys (variant)
  --hsm-latency TIME     how long a device takes for a command, 1ms (0ms)
  --hsm-cert FILE  --hsm-key FILE
                         PEM files: the devices use TLS`;

const HSM_FLAGS = {
  'hsm-file': text,
  'hsm-lmk': { ...text, default: 'variant' },
  'hsm-latency': { ...text, default: '0ms' },
  'hsm-cert': text,
  'hsm-key': text,
} as const;

export const USAGE = `usage: tapwire simulate [TYPE=PORT ...] [hsm=PORT ...] [options]   default: type-1=9101; port 0: a free port

  --host ADDRESS         address to listen on (127.0.0.1)
  --ledger PORT          port that serves the ledger at /ledger (a free port)
  --config TYPE=FILE     JSON: differences from the type's example configuration (dialect, MAC and PIN keys, sign-on)
  --cards FILE           JSON: test cards with a balance, a limit or a response code (processors/README.md)
  --issuer test|FILE     verify the cryptograms of chip cards: those of tapwire tap --card, or cards of a JSON file
  --explain              log what is expected of which tags of a chip card, and their values
  --from FILE            recorded traffic (tapwire processor record): responses and times as recorded, instead of by amount
  --latency HOW          8ms | uniform:5ms,max=20ms | lognormal:8ms,p99=40ms
  --deadline TIME        the acquirer's deadline, 30s or 1500ms: late responses are sent after it
  --drop SHARE  --late SHARE  --duplicate SHARE  --garble SHARE  --disconnect SHARE  --decline SHARE
                         share of all responses, as 0.1% or 0.001
  --echo-every TIME      send an echo on each connection at this interval, 30s
  --sign-off-every TIME  sign each connection off at this interval; the acquirer signs on again
  --cut-over-at HH:MM    the UTC time at which the switch begins its next business day and announces it (00:00)
  --change-keys TIME     announce new MAC and PIN keys at this interval, under a transport key printed at the start; the type
                         needs macKeys or a zone pinKey from --config
  --behaviour HOW        correct | faulty (responses are lost, late, duplicated, corrupted) | arbitrary (also arbitrary
                         responses at any time); only the ledger is reliable (correct)
${HSM_USAGE}
  --seed NUMBER          the same seed produces the same faults and latencies in the same order

The amount selects the response; processors/README.md has the table. SIM_TIME_SCALE multiplies its times.`;

const FLAGS = {
  host: { ...text, default: '127.0.0.1' },
  ledger: { ...text, default: '0' },
  config: { ...texts, default: [] as string[] },
  cards: text,
  issuer: text,
  explain: flag,
  from: text,
  ...{ latency: text, deadline: text, 'echo-every': text, 'sign-off-every': text, 'change-keys': text, seed: text },
  'cut-over-at': { ...text, default: '00:00' },
  behaviour: { ...text, default: 'correct' },
  ...{ drop: text, late: text, duplicate: text, garble: text, disconnect: text, decline: text },
  ...HSM_FLAGS,
} as const satisfies Readonly<Record<FaultKind | string, object>>;

/** The options of the command line. */
export interface SimulateOptions extends SimulatorOptions {
  readonly host: string;
  readonly simulatedHsm: SimulatedHsmOptions;
}

/** `hsm=1500` among the switches: a simulated payShield device. */
const HSM_WORD = /^hsm=/;

/**
 * Reads `type-1=9101 type-2=9201 --drop 0.1% ...`.
 *
 * @throws StartError BAD_CONFIG, SimulatorError FAULT_INVALID or BEHAVIOUR_UNKNOWN, naming the invalid argument
 */
export function readSimulateOptions(args: string[], types: ReadonlyMap<string, Processor>): SimulateOptions {
  const { values, words } = readWords(args, FLAGS);
  const { host, latency, seed, 'change-keys': every } = values;
  const deadlineMs = timeOf(values, 'deadline');
  if (values.explain && values.issuer === undefined) throw new StartError('BAD_CONFIG', '--explain: needs --issuer');
  const configs = readConfigs(values.config, types);
  const recorded = values.from === undefined ? undefined : readText('--from', values.from);
  const hsmWords = words.filter((word) => HSM_WORD.test(word));
  const switchWords = words.filter((word) => !HSM_WORD.test(word));
  const processors = (words.length > 0 ? switchWords : ['type-1=9101']).map((word): SimulatedProcessor => {
    const [processor, port] = byType(word, types, 'TYPE=PORT');
    const config = every === undefined ? configs.get(processor) : withKeyExchange(processor, configs.get(processor));
    const recording =
      recorded === undefined ? undefined : readRecording(recorded, processor, config ?? processor.exampleConfig);
    return { processor, port: numberOf(port, word), config, deadlineMs, recording };
  });
  for (const { type } of [...configs.keys()].filter((each) => !processors.some(({ processor }) => processor === each)))
    throw new StartError('BAD_CONFIG', `--config: no switch of type ${type} is simulated`);
  if (recorded !== undefined && !processors.some(({ recording }) => recording?.length))
    throw new StartError('BAD_CONFIG', `--from ${values.from}: no payment or refund of a simulated type was recorded`);
  return {
    processors,
    host,
    simulatedHsm: readHsmOptions(
      hsmWords.map((word) => numberOf(word.replace(HSM_WORD, ''), word)),
      values,
    ),
    cards: readCards(values.cards),
    chipCards: values.issuer === undefined ? undefined : readChipCards(values.issuer),
    isExplaining: values.explain,
    latency,
    faults: faultsOf(values),
    behaviour: parseBehaviour(values.behaviour),
    echoEveryMs: timeOf(values, 'echo-every'),
    signOffEveryMs: timeOf(values, 'sign-off-every'),
    cutOverAtMinute: minuteOf(values['cut-over-at']),
    changeKeysEveryMs: timeOf(values, 'change-keys'),
    ledgerPort: numberOf(values.ledger, '--ledger'),
    seed: seed === undefined ? undefined : numberOf(seed, '--seed', Number.MAX_SAFE_INTEGER),
  };
}

/** `type-1=9101` -> the processor and `9101`. */
function byType(word: string, types: ReadonlyMap<string, Processor>, form: string): [Processor, string] {
  const [type = '', ...rest] = word.split('=');
  const processor = types.get(type);
  if (processor !== undefined && rest.length > 0) return [processor, rest.join('=')];
  throw new StartError('BAD_CONFIG', `${word}: expected ${form} with one of ${[...types.keys()].join(', ')}`);
}

function readConfigs(words: readonly string[], types: ReadonlyMap<string, Processor>): Map<Processor, SwitchConfig> {
  const files = words.map((word) => byType(word, types, '--config TYPE=FILE'));
  return new Map(files.map(([processor, file]) => [processor, readConfigFile(processor, file)]));
}

function readConfigFile({ type, exampleConfig, configSchema }: Processor, file: string): SwitchConfig {
  const given = { ...exampleConfig, ...(readJson('--config', file) as object) };
  return fitting(configSchema, given, `${file} does not fit ${type}`);
}

/** The cards with real cryptograms that `--issuer` names: `test`, or a JSON file. @throws StartError BAD_CONFIG */
export function readChipCards(source: string): readonly CardProfile[] {
  if (source === 'test') return TEST_CARDS;
  return fitting(cardProfiles, readJson('--issuer', source), `${source} does not list chip cards`);
}

function readCards(file: string | undefined): TestCard[] | undefined {
  if (file === undefined) return undefined;
  const cards = fitting(testCards, readJson('--cards', file), `${file} does not list test cards`);
  for (const [at, card] of cards.entries()) checkAmounts(card, `${file}, card ${at}`);
  return cards;
}

function checkAmounts(card: TestCard, where: string): void {
  try {
    new CardAccount(card);
  } catch (cause) {
    if (!(cause instanceof MoneyError)) throw cause;
    throw new StartError('BAD_CONFIG', `${where}: unknown currency, or an amount with too many decimals`, { cause });
  }
}

/** Exchanges every key that the type and the configuration have, unless the configuration lists the keys. */
function withKeyExchange(processor: Processor, given: SwitchConfig = processor.exampleConfig): SwitchConfig {
  if (given.keyExchange) return given;
  const { type, keyChange } = processor;
  const keys = (keyChange?.uses ?? []).filter((use) =>
    use === 'mac' ? given.macKeys !== undefined : given.pinKey?.derivation === 'zone',
  );
  if (!keyChange || keys.length === 0) {
    throw new StartError(
      'BAD_CONFIG',
      `--change-keys: ${type} has no key to exchange; configure macKeys or a zone pinKey with --config`,
    );
  }
  const { form } = keyChange;
  return { ...given, keyExchange: keyExchangeConfig.parse({ transportKeyId: `${type}-transport`, form, keys }) };
}

function faultsOf(values: Readonly<Partial<Record<FaultKind, string>>>): FaultRates {
  const given = FAULT_KINDS.filter((kind) => values[kind] !== undefined);
  return Object.fromEntries(given.map((kind) => [kind, parseShare(values[kind]!, `--${kind} `)]));
}

const TIMES = ['deadline', 'echo-every', 'sign-off-every', 'change-keys'] as const;

function timeOf(values: Readonly<Record<string, unknown>>, flag: (typeof TIMES)[number]): number | undefined {
  const time = values[flag];
  if (time === undefined) return undefined;
  const [, digits, unit] = /^(\d{1,6})(ms|s)$/.exec(String(time)) ?? [];
  const ms = Number(digits) * (unit === 's' ? 1_000 : 1);
  if (ms > 0) return ms;
  throw new StartError('BAD_CONFIG', `--${flag} ${time}: expected 30s or 1500ms`);
}

/** `22:30` as minutes after midnight. */
function minuteOf(time: string): number {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
  if (hours === undefined) throw new StartError('BAD_CONFIG', `--cut-over-at ${time}: expected a time such as 22:00`);
  return Number(hours) * 60 + Number(minutes);
}

const MAX_PORT = 65_535;

function numberOf(digits: string, where: string, most = MAX_PORT): number {
  const number = /^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
  if (number <= most) return number;
  throw new StartError('BAD_CONFIG', `${where}: expected a whole number of at most ${most}`);
}

/** The simulated payShield devices of the command line. */
interface SimulatedHsmOptions {
  readonly ports: readonly number[];
  readonly file: string | undefined;
  readonly lmkForm: LmkForm;
  readonly latencyMs: number;
  readonly tls: { readonly cert: string; readonly key: string; readonly certFile: string } | undefined;
}

type HsmValues = Readonly<Partial<Record<keyof typeof HSM_FLAGS, string>>>;

/** @throws StartError BAD_CONFIG naming the invalid argument */
function readHsmOptions(ports: readonly number[], values: HsmValues): SimulatedHsmOptions {
  const latencyMs = latencyOf(values['hsm-latency'] ?? '0ms');
  const { 'hsm-file': file, 'hsm-lmk': form, 'hsm-cert': certFile, 'hsm-key': keyFile } = values;
  if (form !== 'variant' && form !== 'keyBlock')
    throw new StartError('BAD_CONFIG', `--hsm-lmk ${form}: expected variant or keyBlock`);
  if (file !== undefined && !file.endsWith('.json'))
    throw new StartError('BAD_CONFIG', `--hsm-file ${file}: the name must end in .json`);
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new StartError('BAD_CONFIG', '--hsm-cert and --hsm-key are required together');
  const isGiven = file !== undefined || certFile !== undefined;
  if (isGiven && ports.length === 0) throw new StartError('BAD_CONFIG', '--hsm-...: no hsm=PORT is simulated');
  const tls =
    certFile === undefined
      ? undefined
      : { cert: readText('--hsm-cert', certFile), key: readText('--hsm-key', keyFile), certFile };
  return { ports, file, lmkForm: form, latencyMs, tls };
}

function latencyOf(time: string): number {
  const [, digits] = /^(\d{1,5})ms$/.exec(time) ?? [];
  if (digits === undefined) throw new StartError('BAD_CONFIG', `--hsm-latency ${time}: expected a time such as 1ms`);
  return Number(digits);
}

/**
 * Starts the devices and writes their configuration with the demo keys of these switches and of demo readers.
 *
 * @throws SimulatorError PORT_TAKEN; StartError BAD_CONFIG if the file cannot be written
 */
export async function startSimulatedHsm(
  { ports, file, lmkForm, latencyMs, tls }: SimulatedHsmOptions,
  host: string,
  configs: readonly SwitchConfig[],
): Promise<DemoDevices> {
  const devices = await startDemoDevices(ports, { host, lmkForm, latencyMs, tls });
  for (const port of devices.ports) console.log(`payShield device (test LMK, for simulation only) on ${host}:${port}`);
  if (file === undefined) return devices;
  const keys = demoLmkKeys([...demoKeys(configs), demoKey(DEMO_READER_KEY, 'dukptBase')], lmkForm);
  const content = {
    kind: 'payshield',
    lmk: { form: lmkForm },
    devices: devices.ports.map((port, at) => {
      return { name: `simulated-${at + 1}`, host, port, ...(tls && { tls: { caFile: resolve(tls.certFile) } }) };
    }),
    keys,
  };
  try {
    writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`);
  } catch (cause) {
    await devices.close();
    throw new StartError('BAD_CONFIG', `--hsm-file ${file}: ${describeSystemError(cause)}`, { cause });
  }
  return devices;
}
