import type { HandoverSealer } from '../card/seal-handover.ts';
import type { Database } from '../store/postgres/open-database.ts';
import { postgresProcessLines } from '../store/switches/process-lines.ts';
import type { AcquirerSwitches } from '../switching/switches/acquirer-switches.ts';
import { SharedLines } from '../switching/switches/other-processes.ts';
import type { Config } from './config.ts';
import type { Report } from './opening.ts';

export interface OtherProcessesParts {
  readonly config: Config;
  readonly database: Database;
  readonly switches: AcquirerSwitches;
  readonly sealer: HandoverSealer;
  readonly report: Report;
}

/** The connections of the other processes that share the switches. A worker accepts no taps, so it hands none over. */
export function openOtherProcesses({ config, database, switches, sealer, report }: OtherProcessesParts) {
  return SharedLines.open({
    reported: postgresProcessLines(database),
    switches,
    handover: config.TAPWIRE_ROLE === 'all' ? sealer : undefined,
    onError: report('connections to switches could not be reported to other processes'),
  });
}
