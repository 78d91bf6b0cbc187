import { parseArgs } from 'node:util';
import { StartError } from '../../basics/errors.ts';
import { readReportedFigures } from '../../console/store/stored-figures.ts';
import { createBacklogReader } from '../../observe/backlog.ts';
import type { ProcessFigures } from '../../observe/figures.ts';
import { findProcessorFaults } from '../../store/switches/processor-reports.ts';
import { onPresentDatabase } from '../administration.ts';
import { flag, idOf, listOf, onlyOne, text } from '../output.ts';

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
export async function run(args: string[]): Promise<number> {
  const options = { acquirer: text, json: flag };
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const id = idOf(onlyOne(positionals, 'PROCESSOR'), 'PROCESSOR');
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
    console.log(connections.length > 0 ? `\n${listOf(connections, COLUMNS)}` : '\nNo running process has it open.');
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

const COLUMNS = {
  titles: ['PROCESS', 'STATE', 'IN FLIGHT', 'RESPONDED', 'TIMED OUT', 'LATE', 'BAD MAC', 'LAST ECHO', 'CONNECTIONS'],
  cellsOf: (row: ShownConnection) => [
    row.process,
    row.availability,
    ...[row.inFlight, row.responded, row.timedOut, row.late, row.badMacs].map(String),
    row.lastEchoAt ?? '-',
    row.lines,
  ],
};
