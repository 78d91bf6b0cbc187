import { parseArgs } from 'node:util';
import { SETTINGS } from '#schemas/admin-operations';
import type { StoredProcessor } from '#schemas/admin-routing';
import { StartError } from '../../basics/errors.ts';
import { readConfig } from '../../start/config.ts';
import { switchAccessOf } from '../../start/open-hsm-and-readers.ts';
import { AcquirerSettings } from '../../store/settings/acquirer-settings.ts';
import { PROCESSOR_SETTINGS, processorSettingsFor } from '../../store/settings/processor-settings.ts';
import type { Removal } from '../../store/settings/settings-table.ts';
import { findProcessorFaults } from '../../store/switches/processor-reports.ts';
import { changeOf, checkedBy, listAll, onDatabase, onSettings } from '../administration.ts';
import { type Columns, flag, idOf, listOf, onlyOne, printList, text } from '../output.ts';
import { installedTypes } from '../plug-ins.ts';
import { readJson } from '../read-input.ts';
import { readNamed } from '../settings-commands.ts';

/**
 * The processors of an acquirer: types with the settings of one switch each. Gateways apply changes automatically.
 */

/** `tapwire processor list --acquirer ID [--json]`. */
export async function listOfAcquirer(acquirerId: number, asJson: boolean): Promise<number> {
  const { processors, faults } = await onDatabase(async (database) => {
    const settings = new AcquirerSettings(database, PROCESSOR_SETTINGS);
    return {
      processors: await listAll('id', (page) => settings.list({ acquirerId }, page)),
      faults: await findProcessorFaults(database, acquirerId),
    };
  });
  const withFaults = processors.map((processor) => ({
    ...processor,
    fault: faults.find(({ processorId }) => processorId === processor.id)?.reason ?? null,
  }));
  printList(withFaults, COLUMNS, asJson);
  if (!asJson)
    for (const { reason } of faults) console.error(`tapwire: a worker cannot open this processor: ${reason}`);
  return 0;
}

/** `tapwire processor add --acquirer ID --type TYPE --config FILE [--name NAME]`. */
export async function add(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { acquirer: text, type: text, config: text, name: text } });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const { type, name } = values;
  const given = checkedBy(SETTINGS.processors.add.body, { type, name, config: readJson('--config', values.config) });
  const added = await onSettings(await checkedSettings(), (settings) => settings.add(changeOf(acquirerId), given));
  console.log(
    `${listOf([added], COLUMNS)}\n\nThe processor receives no taps until a route leads to it: tapwire route add --acquirer ${acquirerId} --processor ${added.id}`,
  );
  return 0;
}

/**
 * `tapwire processor change --acquirer ID [--config FILE] [--name NAME] [--same-switch] PROCESSOR`. An empty name removes it.
 */
export async function change(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { acquirer: text, config: text, name: text, 'same-switch': flag },
  });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const id = idOf(onlyOne(positionals, 'PROCESSOR'), 'PROCESSOR');
  const isSameSwitch = values['same-switch'];
  if (values.config === undefined && values.name === undefined && !isSameSwitch)
    throw new StartError('BAD_USAGE', 'Give --config, --name, --same-switch or several of them.');
  const newConfig = values.config === undefined ? undefined : readJson('--config', values.config);
  const name = values.name === '' ? null : values.name;
  let left: Removal | undefined;
  const changed = await onSettings(await checkedSettings(), async (settings) => {
    const { type, config } = await settings.find({ acquirerId }, id);
    const stated = isSameSwitch ? { isSameSwitch } : {};
    const given = checkedBy(SETTINGS.processors.change.body, { type, name, config: newConfig ?? config, ...stated });
    return settings.change(changeOf(acquirerId), id, given, (stranded) => {
      left = stranded;
    });
  });
  console.log(listOf([changed], COLUMNS));
  tellStranded(left);
  return 0;
}

/** `tapwire processor remove --acquirer ID PROCESSOR`. */
export async function remove(args: string[]): Promise<number> {
  const { change, id } = readNamed({ noun: 'processor', key: PROCESSOR_SETTINGS.key }, args);
  const removal = await onSettings(PROCESSOR_SETTINGS, (settings) => settings.remove(change, id));
  console.log(`Processor ${id} is removed.`);
  tellStranded(removal);
  return 0;
}

function tellStranded(left: Removal | undefined): void {
  if (left) console.log(`${left.strandedSales} sales of the open business day can no longer be voided or refunded.`);
}

/** `tapwire processor example TYPE`: prints a configuration to start from. */
export async function example([type = '']: string[]): Promise<number> {
  const types = await installedTypes();
  const processor = types.get(type);
  if (!processor) throw new StartError('BAD_CONFIG', `TYPE: expected one of ${[...types.keys()].join(', ')}`);
  console.log(JSON.stringify(processor.exampleConfig, null, 2));
  return 0;
}

/** With the rules of the present environment, which the workers of this installation share. */
async function checkedSettings() {
  return processorSettingsFor(await installedTypes(), switchAccessOf(readConfig(process.env)));
}

const COLUMNS: Columns<StoredProcessor> = {
  titles: ['PROCESSOR', 'NAME', 'TYPE', 'CHANGED', 'ADDRESSES'],
  cellsOf: ({ id, name, type, updatedAt, config }) => {
    const { addresses = [] } = config as { addresses?: { host: string; port: number }[] };
    return [String(id), name ?? '', type, updatedAt, addresses.map(({ host, port }) => `${host}:${port}`).join(', ')];
  },
};
