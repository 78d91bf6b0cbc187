import { CellWatch, claimName, refuseInCell } from '../store/cells/cell-watch.ts';
import { keyNames } from '../store/cells/key-names.ts';
import { LineLocks } from '../store/cells/line-locks.ts';
import type { Database } from '../store/postgres/open-database.ts';
import type { AcquirerSwitches } from '../switching/switches/acquirer-switches.ts';
import type { Config } from './config.ts';
import type { Stores } from './open-stores.ts';
import type { Closers, Report } from './opening.ts';

export interface CellParts {
  readonly config: Config;
  readonly url: string;
  readonly database: Database;
  readonly stores: Stores;
  readonly report: Report;
  readonly closers: Closers;
}

/** What an installation of several cells needs in a process with connections to switches. */
export interface Cell {
  readonly locks: LineLocks;
  /** Follows which acquirers this cell serves, from now on. */
  follow(switches: AcquirerSwitches): void;
}

/** @throws StartError BAD_CONFIG if CELL_NAME is not the name in the database */
export async function openCell({
  config,
  url,
  database,
  stores,
  report,
  closers,
}: CellParts): Promise<Cell | undefined> {
  const { CELL_NAME: name } = config;
  if (name === undefined) {
    await refuseInCell(database);
    return undefined;
  }
  await claimName(database, name, keyNames(stores.keys));
  const onError = report('moves of acquirers between cells could not be followed');
  const locks = new LineLocks(url, onError);
  closers.push(() => locks.close());
  const follow = (switches: AcquirerSwitches) => {
    const watch = CellWatch.open({
      ...{ database, name, onError },
      keys: () => keyNames(stores.keys),
      onChange: () => stores.directory.refresh(),
      onServed: (acquirers) => locks.reportSignedOn(signedOnAmong(acquirers, switches)),
    });
    closers.push(() => watch.close());
  };
  return { locks, follow };
}

/** The acquirers among these that have a switch to which this process is signed on. */
function signedOnAmong(acquirers: readonly number[], switches: AcquirerSwitches): Set<number> {
  const signedOn = new Set(
    [...switches].filter(([, line]) => line.isSignedOn).map(([name]) => Number(name.split(' ')[0])),
  );
  return new Set(acquirers.filter((id) => signedOn.has(id)));
}
