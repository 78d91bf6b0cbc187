import { toHex } from '../bytes/hex.ts';
import { LogBudget } from '../limits/log-budget.ts';
import { createLog, type Log } from '../ops/log.ts';
import { demoKeys } from '../simulator/demo-hsm.ts';
import { type Simulator, type SimulatorEvent, startSimulator } from '../simulator/start-simulator.ts';
import { installedTypes } from './installed-types.ts';
import { readSimulateOptions, type SimulateOptions, USAGE } from './simulate-options.ts';
import { Statistics } from './simulate-statistics.ts';
import { untilAskedToStop } from './until-asked-to-stop.ts';

/** Requests can be refused by the thousand: so many a second are told, and how many more there were. */
const LOG_LINES_PER_SECOND = 20;

const EVENTS: Readonly<Record<SimulatorEvent['event'], string>> = {
  refused: 'a request was refused',
  badInput: 'what came is no message',
  outage: 'the switch closes its lines and refuses new ones',
  recovered: 'the switch is back',
  lost: 'another program has taken the port of the switch',
  keyChanged: 'a new key is in use',
  keyNotChanged: 'the acquirer has not taken a new key',
};

/**
 * `tapwire simulate`: switches in their own right, for any mix of types. Any terminal software can be pointed at them: what
 * they answer follows from the amount, what goes wrong besides from the flags.
 */
export async function run(args: string[]): Promise<number> {
  const types = await installedTypes();
  const options = readSimulateOptions(args, types);
  if (options === undefined) {
    console.log(USAGE);
    return 0;
  }
  const stopping = untilAskedToStop();
  const statistics = new Statistics(process.stdout);
  const tell = teller(createLog('info', 'switch'));
  const simulator = await startSimulator({ ...options, onEvent: (event) => statistics.aside(() => tell(event)) });
  introduce(options, simulator);
  statistics.start(() => simulator.counters());
  await stopping;
  statistics.stop();
  await simulator.close();
  return 0;
}

function introduce({ processors, host }: SimulateOptions, { ports, ledgerPort }: Simulator): void {
  processors.forEach(({ processor }, at) => {
    console.log(`${processor.name} listens on ${host}:${ports[at]}`);
  });
  for (const { keyId, usage, bytes } of demoKeys(
    processors.map(({ processor, config }) => config ?? processor.exampleConfig),
  ))
    console.log(`key ${keyId} (${usage}, double-length DES, for simulation alone): ${toHex(bytes.reveal())}`);
  console.log(`ledger: http://${host}:${ledgerPort}/ledger`);
}

/** Names fields and codes, never values. */
function teller(log: Log): (event: SimulatorEvent) => void {
  const budget = new LogBudget(LOG_LINES_PER_SECOND);
  return ({ event, ...details }) =>
    budget.spend(performance.now(), (suppressed) => {
      log.warn({ event, ...details, ...(suppressed > 0 && { suppressed }) }, EVENTS[event]);
    });
}
