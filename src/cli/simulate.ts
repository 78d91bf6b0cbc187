import { LogBudget } from '../basics/limits/log-budget.ts';
import { toHex } from '../codecs/bytes/hex.ts';
import type { SwitchConfig } from '../kits/processor-kit/processor.ts';
import { createLog, type Log } from '../observe/log.ts';
import { demoKeys } from '../tools/simulator/demo-hsm.ts';
import { type Simulator, type SimulatorEvent, startSimulator } from '../tools/simulator/start-simulator.ts';
import { installedTypes } from './processor-types.ts';
import { startSimulatedHsm } from './simulate-hsm.ts';
import { readSimulateOptions, type SimulateOptions } from './simulate-options.ts';
import { Statistics } from './simulate-statistics.ts';
import { untilAskedToStop } from './until-asked-to-stop.ts';

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
};

/**
 * `tapwire simulate`: independent switches of any mix of types, for any terminal software. The amount selects the
 * response; the flags select additional faults.
 */
export async function run(args: string[]): Promise<number> {
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
  return 0;
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
      log.warn({ event, ...details, ...(suppressed > 0 && { suppressed }) }, EVENTS[event]);
    });
}
