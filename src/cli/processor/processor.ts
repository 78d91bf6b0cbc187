import { SETTINGS } from '#schemas/admin-operations';
import type { ProcessorSettings, StoredProcessor } from '#schemas/admin-routing';
import { RequestRejected, StartError } from '../../basics/errors.ts';
import { toHex } from '../../codecs/bytes/hex.ts';
import { readReportedFigures } from '../../console/store/stored-figures.ts';
import { createBacklogReader } from '../../observe/backlog.ts';
import type { ProcessFigures } from '../../observe/figures.ts';
import { readConfig } from '../../start/config.ts';
import { switchAccessOf } from '../../start/open-hsm-and-readers.ts';
import { AcquirerSettings } from '../../store/settings/acquirer-settings.ts';
import { PROCESSOR_SETTINGS, processorSettingsFor } from '../../store/settings/processor-settings.ts';
import type { Removal } from '../../store/settings/settings-table.ts';
import { findProcessorFaults } from '../../store/switches/processor-reports.ts';
import { findRecorded } from '../../store/transactions/attempt-messages.ts';
import {
  changeOf,
  checkedBy,
  listAll,
  namingOptions,
  onDatabase,
  onPresentDatabase,
  onSettings,
} from '../administration.ts';
import { countIn, flag, idOf, onlyOne, readJson, readOptions, readWords, text } from '../arguments.ts';
import { type Commands, command } from '../commands.ts';
import { type Columns, listOf, printList } from '../output.ts';
import { installedTypes } from '../plug-ins.ts';
import { readNamed } from '../settings-commands.ts';
import { create, listTypes, verify, watchType } from './processor-types.ts';

/** `tapwire processor ...`: the processor types of this installation, and the processors of each acquirer. */
export const commands: Commands = {
  new: command(
    'NAME [--dir DIR] [--spec FILE]: create a folder with a processor that passes the conformance suite',
    create.run,
    create.USAGE,
  ),
  verify: command('PATH|PACKAGE|TYPE [--json]: run the conformance suite over a processor', verify.run, verify.USAGE),
  watch: command('PATH: run the conformance suite at each save', watchType.run, watchType.USAGE),
  list: command('[--acquirer ID] [--json]: list the types, or the processors of an acquirer', list),
  example: command('TYPE: print a configuration to start from', example),
  add: command('--acquirer ID --type TYPE --config FILE [--name NAME]: add a processor to an acquirer', add),
  change: command(
    '--acquirer ID [--config FILE] [--name NAME] [--same-switch] PROCESSOR: change the configuration, the name or both',
    change,
  ),
  show: command('--acquirer ID [--json] PROCESSOR: show its connections in each process, and what waits for it', show),
  record: command(
    '--acquirer ID [--since TIME] [--until TIME] [--limit 10000] PROCESSOR: print its masked messages, for tapwire simulate --from',
    record,
  ),
  remove: command('--acquirer ID PROCESSOR: remove a processor', remove),
};

/**
 * `tapwire processor list [--acquirer ID [--json]]`: the types that a gateway started here would load, those of
 * PROCESSORS included; with an acquirer, its processors.
 */
async function list(args: string[]): Promise<number> {
  const { acquirer, json } = readOptions(args, { acquirer: text, json: flag });
  if (acquirer === undefined) return listTypes();
  const acquirerId = idOf(acquirer, '--acquirer');
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
  printList(withFaults, COLUMNS, json);
  if (!json) for (const { reason } of faults) console.error(`tapwire: a worker cannot open this processor: ${reason}`);
  return 0;
}

/** `tapwire processor add --acquirer ID --type TYPE --config FILE [--name NAME]`. */
async function add(args: string[]): Promise<void> {
  const values = readOptions(args, { acquirer: text, type: text, config: text, name: text });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const { type, name } = values;
  const given = checkedBy(SETTINGS.processors.add.body, { type, name, config: readJson('--config', values.config) });
  const added = await namingGrants(acquirerId, given, async () =>
    onSettings(await checkedSettings(), (settings) => settings.add(changeOf(acquirerId), given)),
  );
  console.log(
    `${listOf([added], COLUMNS)}\n\nThe processor receives no taps until a route leads to it: tapwire route add --acquirer ${acquirerId} --processor ${added.id}`,
  );
}

/**
 * `tapwire processor change --acquirer ID [--config FILE] [--name NAME] [--same-switch] PROCESSOR`. An empty name removes it.
 */
async function change(args: string[]): Promise<void> {
  const { values, words } = readWords(args, { acquirer: text, config: text, name: text, 'same-switch': flag });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const id = idOf(onlyOne(words, 'PROCESSOR'), 'PROCESSOR');
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
    return namingGrants(acquirerId, given, () =>
      settings.change(changeOf(acquirerId), id, given, (stranded) => {
        left = stranded;
      }),
    );
  });
  console.log(listOf([changed], COLUMNS));
  tellStranded(left);
}

/** `tapwire processor remove --acquirer ID PROCESSOR`. */
async function remove(args: string[]): Promise<void> {
  const { change, id } = readNamed({ noun: 'processor', key: PROCESSOR_SETTINGS.key }, args);
  const removal = await onSettings(PROCESSOR_SETTINGS, (settings) => settings.remove(change, id));
  console.log(`Processor ${id} is removed.`);
  tellStranded(removal);
}

function tellStranded(left: Removal | undefined): void {
  if (left) console.log(`${left.strandedSales} sales of the open business day can no longer be voided or refunded.`);
}

/** `tapwire processor example TYPE`: prints a configuration to start from. */
async function example([type = '']: string[]): Promise<void> {
  const types = await installedTypes();
  const processor = types.get(type);
  if (!processor) throw new StartError('BAD_CONFIG', `TYPE: expected one of ${[...types.keys()].join(', ')}`);
  console.log(JSON.stringify(processor.exampleConfig, null, 2));
}

/**
 * Runs `act`; what it refuses names `--config`, and the settings with which the operator, who runs this command, would
 * allow it.
 */
async function namingGrants<Result>(
  acquirerId: number,
  { type, config }: Pick<ProcessorSettings, 'type' | 'config'>,
  act: () => Promise<Result>,
): Promise<Result> {
  const optionOf = (path: string) => path.replace(/^config\//, 'config ').replaceAll('/', '.');
  return namingOptions(optionOf, act).catch(async (error) => {
    const { data } = (await installedTypes()).get(type)?.configSchema.safeParse(config) ?? {};
    if (!(error instanceof RequestRejected) || !data) throw error;
    const missing = switchAccessOf(readConfig(process.env)).missingGrants(acquirerId, data);
    const advice = missing.map(({ setting, grant }) => ({ pointer: setting, detail: `add ${grant} in every process` }));
    throw new RequestRejected(error.code, [...(error.errors ?? []), ...advice]);
  });
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

interface StoredSettings {
  readonly type: string;
  readonly name: string | null;
  readonly config: unknown;
  readonly removedAt: Date | null;
}

interface ShownConnection {
  readonly process: string;
  readonly availability: string;
  readonly lines: string;
  readonly inFlight: number;
  readonly responded: number;
  readonly timedOut: number;
  readonly late: number;
  readonly badMacs: number;
  readonly lastEchoAt: string | null;
}

/**
 * `tapwire processor show --acquirer ID PROCESSOR`: what each running process knows about its switch, and what waits for it.
 * Exit code 1 if no process is signed on.
 */
async function show(args: string[]): Promise<number> {
  const options = { acquirer: text, json: flag };
  const { values, words } = readWords(args, options);
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const id = idOf(onlyOne(words, 'PROCESSOR'), 'PROCESSOR');
  const shown = await onPresentDatabase(async (database) => {
    const { rows } = await database.query<StoredSettings>(
      'select type, name, config, removed_at as "removedAt" from processors where acquirer_id = $1 and id = $2',
      [acquirerId, id],
    );
    const [stored] = rows;
    if (stored === undefined) throw new StartError('BAD_CONFIG', `acquirer ${acquirerId} has no processor ${id}`);
    const faults = await findProcessorFaults(database, acquirerId);
    const { oldestReversals } = await createBacklogReader(database)();
    const reversal = oldestReversals.find((each) => each.acquirerId === acquirerId && each.processorId === id);
    const running = await readReportedFigures<ProcessFigures>(database);
    return {
      ...{ acquirerId, id, ...stored },
      fault: faults.find(({ processorId }) => processorId === id)?.reason ?? null,
      oldestReversalSeconds: reversal ? Math.round(reversal.seconds) : null,
      connections: running.flatMap(({ figures }) => connectionsOf(figures, `${acquirerId} ${id}`)),
    };
  });
  if (values.json) console.log(JSON.stringify(shown, null, 2));
  else {
    const { type, name, fault, oldestReversalSeconds, connections } = shown;
    console.log(`Processor ${id} of acquirer ${acquirerId}: ${type}${name ? ` (${name})` : ''}`);
    if (fault) console.log(`A worker cannot open it: ${fault}`);
    if (oldestReversalSeconds !== null)
      console.log(`The oldest reversal waits for an acknowledgement for ${oldestReversalSeconds} s.`);
    console.log(
      connections.length > 0 ? `\n${listOf(connections, CONNECTION_COLUMNS)}` : '\nNo running process has it open.',
    );
  }
  return shown.connections.some(({ availability }) => SIGNED_ON.includes(availability)) ? 0 : 1;
}

const SIGNED_ON = ['ready', 'full'];

function connectionsOf({ host, pid, switches }: ProcessFigures, wanted: string): ShownConnection[] {
  return switches
    .filter(({ name }) => name === wanted)
    .map(({ availability, lines, inFlight, responded, timedOut, late, badMacs, lastEchoAtMs }) => ({
      process: `${host} ${pid}`,
      ...{ availability, inFlight, responded, timedOut, late, badMacs },
      lines: lines.map(({ address, state }) => `${address} ${state}`).join(', '),
      lastEchoAt: lastEchoAtMs === null ? null : new Date(lastEchoAtMs).toISOString(),
    }));
}

const CONNECTION_COLUMNS = {
  titles: ['PROCESS', 'STATE', 'IN FLIGHT', 'RESPONDED', 'TIMED OUT', 'LATE', 'BAD MAC', 'LAST ECHO', 'CONNECTIONS'],
  cellsOf: (row: ShownConnection) => [
    ...[row.process, row.availability],
    ...[row.inFlight, row.responded, row.timedOut, row.late, row.badMacs].map(String),
    ...[row.lastEchoAt ?? '-', row.lines],
  ],
};

const DEFAULT_LIMIT = 10_000;
/** What `tapwire simulate --from` reads. */
const MOST = 200_000;
const DAY_MS = 86_400_000;

/**
 * `tapwire processor record`: the payments and refunds of a processor with their responses, one JSON object per line,
 * oldest first. The messages are stored masked (`MESSAGES_KEPT`), so the lines contain no card data.
 */
async function record(args: string[]): Promise<void> {
  const options = { acquirer: text, since: text, until: text, limit: { ...text, default: String(DEFAULT_LIMIT) } };
  const { values, words } = readWords(args, options);
  const limit = countIn(values.limit, '--limit', MOST);
  const asked = {
    acquirerId: idOf(values.acquirer, '--acquirer'),
    processorId: idOf(words[0], 'PROCESSOR'),
    since: timeOf(values.since, '--since') ?? new Date(Date.now() - DAY_MS),
    until: timeOf(values.until, '--until') ?? new Date(),
    limit,
  };
  const found = await onDatabase((database) => findRecorded(database, asked));
  for (const { type, sentAt, tookMs, outcome, request, response } of found) {
    const came = response && toHex(response);
    console.log(JSON.stringify({ type, sentAt, tookMs, outcome, request: toHex(request), response: came }));
  }
}

function timeOf(given: string | undefined, flag: string): Date | undefined {
  if (given === undefined) return undefined;
  const time = new Date(given);
  if (!Number.isNaN(time.getTime()) && /^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:\d{2})$/.test(given)) return time;
  throw new StartError('BAD_CONFIG', `${flag} ${given}: expected a time such as 2026-11-20T10:00:00Z`);
}
