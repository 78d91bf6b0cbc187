import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type ProcessorSettings, processorSettings, type StoredProcessor } from '#schemas/admin-routing';
import { readProcessorNames } from '../../config.ts';
import { StartError } from '../../errors.ts';
import { loadProcessors } from '../../processor-kit/load-processors.ts';
import { AcquirerSettings } from '../../store/settings/acquirer-settings.ts';
import { PROCESSOR_SETTINGS } from '../../store/settings/processor-settings.ts';
import { findProcessorFaults } from '../../store/switches/processor-faults.ts';
import { checkProcessorSettings } from '../../transactions/tap/check-routing.ts';
import { changeOf, checkedBy, idOf, listAll, onDatabase, onSettings } from '../administration.ts';
import { tableOf } from '../table.ts';

/** The processors of an acquirer: types with the settings of one switch each. Gateways follow changes by themselves. */

const text = { type: 'string' } as const;

/** `tapwire processor list --acquirer ID [--json]`. */
export async function listOfAcquirer(acquirerId: number, asJson: boolean): Promise<number> {
  const { processors, faults } = await onDatabase(async (database) => {
    const settings = new AcquirerSettings(database, PROCESSOR_SETTINGS);
    const idOfOne = ({ id }: StoredProcessor) => id;
    return {
      processors: await listAll((page) => settings.list({ acquirerId }, page), idOfOne),
      faults: await findProcessorFaults(database, acquirerId),
    };
  });
  const withFaults = processors.map((processor) => ({
    ...processor,
    fault: faults.find(({ processorId }) => processorId === processor.id)?.reason ?? null,
  }));
  if (asJson) {
    console.log(JSON.stringify(withFaults, null, 2));
    return 0;
  }
  console.log(tableOf([TITLES, ...processors.map(rowOf)]));
  for (const { reason } of faults) console.error(`tapwire: a worker cannot open it: ${reason}`);
  return 0;
}

/** `tapwire processor add --acquirer ID --type TYPE --config FILE`. */
export async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, type: text, config: text } });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const given = await checked({ type: values.type, config: readConfigFile(values.config) });
  const added = await onSettings(PROCESSOR_SETTINGS, (settings) => settings.add(changeOf(acquirerId), given));
  console.log(
    `${tableOf([TITLES, rowOf(added)])}\n\nNo tap goes there before a route leads to it: tapwire route add --acquirer ${acquirerId} --processor ${added.id}`,
  );
  return 0;
}

/** `tapwire processor change --acquirer ID --config FILE PROCESSOR`. */
export async function change(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { acquirer: text, config: text },
  });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const id = idOf(positionals[0], 'PROCESSOR');
  const config = readConfigFile(values.config);
  const changed = await onSettings(PROCESSOR_SETTINGS, async (settings) => {
    const { type } = await settings.find({ acquirerId }, id);
    return settings.change(changeOf(acquirerId), id, await checked({ type, config }));
  });
  console.log(tableOf([TITLES, rowOf(changed)]));
  return 0;
}

/** `tapwire processor remove --acquirer ID PROCESSOR`. */
export async function remove(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { acquirer: text } });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const id = idOf(positionals[0], 'PROCESSOR');
  await onSettings(PROCESSOR_SETTINGS, (settings) => settings.remove(changeOf(acquirerId), id));
  console.log(`Processor ${id} is removed.`);
  return 0;
}

/** `tapwire processor example TYPE`: a configuration to start from. */
export async function example([type = '']: string[]): Promise<number> {
  const types = await loadProcessors({ external: readProcessorNames(process.env) });
  const processor = types.get(type);
  if (!processor) throw new StartError('BAD_CONFIG', `TYPE: expected one of ${[...types.keys()].join(', ')}`);
  console.log(JSON.stringify(processor.exampleConfig, null, 2));
  return 0;
}

async function checked(given: unknown): Promise<ProcessorSettings> {
  const settings = checkedBy(processorSettings, given);
  checkProcessorSettings(await loadProcessors({ external: readProcessorNames(process.env) }), settings);
  return settings;
}

/** JSON in a file, or on standard input by `-`. */
function readConfigFile(path: string | undefined): unknown {
  if (path === undefined) throw new StartError('BAD_CONFIG', '--config: expected a file, or - for standard input');
  try {
    return JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'));
  } catch (cause) {
    throw new StartError('BAD_CONFIG', `--config ${path}: ${(cause as Error).message}`, { cause });
  }
}

const TITLES = ['PROCESSOR', 'TYPE', 'CHANGED', 'ADDRESSES'];

function rowOf({ id, type, updatedAt, config }: StoredProcessor): string[] {
  const { addresses = [] } = config as { addresses?: { host: string; port: number }[] };
  return [String(id), type, updatedAt, addresses.map(({ host, port }) => `${host}:${port}`).join(', ')];
}
