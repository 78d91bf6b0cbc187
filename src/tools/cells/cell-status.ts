import { ACQUIRERS_PER_CELL } from '../../store/settings/acquirers.ts';
import { type Cell, type CellEntry, CellError, readCells, withSecrets } from './cell-list.ts';
import { type CellSession, openCellSession } from './cell-session.ts';

/** An acquirer in one cell. */
interface AcquirerInCell {
  readonly id: number;
  readonly name: string;
  /** `serving` also if it was never moved. */
  readonly state: string;
  readonly generation: number;
  readonly peer: string | null;
  /** The last step of a move, with its time. */
  readonly lastStep: string | null;
  readonly lastStepAt: Date | null;
}

export interface CellStatus {
  readonly name: string;
  readonly url: string;
  /** Why nothing is known; null if the cell responds. */
  readonly fault: string | null;
  readonly acquirers: readonly AcquirerInCell[];
}

const ACQUIRERS = `
select coalesce(a.id, c.acquirer_id) as id, coalesce(a.name, '') as name, coalesce(c.state, 'serving') as state,
  coalesce(c.generation, 0) as generation, c.peer, m.step as "lastStep", m.at as "lastStepAt"
from acquirers a full join acquirer_cells c on c.acquirer_id = a.id
left join lateral (select step, at from cell_moves m where m.acquirer_id = c.acquirer_id order by generation desc, id desc limit 1) m on true
order by 1`;

function acquirersIn(session: CellSession): Promise<AcquirerInCell[]> {
  return session.query<AcquirerInCell>(ACQUIRERS);
}

export async function readStatus(cell: Cell): Promise<CellStatus> {
  const { name, url } = cell;
  let session: CellSession | undefined;
  try {
    session = await openCellSession(cell);
    const [identity] = await session.query<{ name: string }>('select name from cell_identity');
    const fault = identity?.name === name ? null : `its database belongs to ${identity?.name ?? 'no cell yet'}`;
    return { name, url, fault, acquirers: await acquirersIn(session) };
  } catch (error) {
    return { name, url, fault: faultOf(error), acquirers: [] };
  } finally {
    await session?.close();
  }
}

/** A sentence for people, without the code. */
function faultOf(error: unknown): string {
  return error instanceof CellError ? error.reason : (error as Error).message;
}

/** What an operator must resolve: an acquirer that two cells serve, or that none serves. */
export function conflictsIn(cells: readonly CellStatus[]): string[] {
  const ids = new Set(cells.flatMap(({ acquirers }) => acquirers.map(({ id }) => id)));
  const faults = cells.filter(({ fault }) => fault !== null).map(({ name, fault }) => `${name}: ${fault}`);
  const conflicts = [...ids].flatMap((id) => {
    const serving = cells.filter(({ acquirers }) =>
      acquirers.some((each) => each.id === id && !['arriving', 'gone'].includes(each.state)),
    );
    if (serving.length === 1) return [];
    if (serving.length === 0) {
      return faults.length > 0 ? [] : [`acquirer ${id} is served by no cell: run its move again to complete it`];
    }
    return [`acquirer ${id} is in ${serving.map(({ name }) => name).join(' and ')}`];
  });
  return [...faults, ...conflicts];
}

/** The first number that a cell assigns to a new acquirer. */
export function firstAcquirerOf({ number }: Pick<Cell, 'number'>): number {
  return number * ACQUIRERS_PER_CELL + 1;
}

/**
 * From now on the cell assigns its own numbers to new acquirers. May be repeated.
 *
 * @throws CellError CELLS_INVALID unless processes of this cell have been started
 */
export async function reserveNumbers(session: CellSession): Promise<void> {
  const { name } = session.cell;
  const text = 'update cell_identity set first_acquirer = $1 where name = $2 returning name';
  const rows = await session.query(text, [firstAcquirerOf(session.cell), name]).catch((cause) => {
    throw new CellError('CELL_UNREACHABLE', `The database of cell ${name} has no schema of this version.`, { cause });
  });
  if (rows.length > 0) return;
  const what = `The database does not belong to cell ${name}. Start its processes with CELL_NAME=${name} first.`;
  throw new CellError('CELLS_INVALID', what);
}

/** A person waits for this long at most; a cell that responds later is shown with the next look. */
const WITHIN_MS = 3_000;
/** More cells than a screen shows. `tapwire cell status` shows all. */
const MAX_CELLS = 50;

export interface CellsReport {
  readonly cells: readonly CellStatus[];
  readonly conflicts: readonly string[];
  /** Cells of the list that are not shown. */
  readonly omitted: number;
}

interface Reading {
  readonly startedAtMs: number;
  readonly status: Promise<CellStatus>;
}

/**
 * The state of the cells for people who watch them. A cell that does not respond delays no other cell, and is not asked
 * again while an earlier question is open.
 */
export class CellWatch {
  readonly #path: string;
  readonly #read: (cell: Cell) => Promise<CellStatus>;
  readonly #withinMs: number;
  readonly #open = new Map<string, Reading>();

  /** @param path of the list of cells */
  constructor(path: string, { read = readStatus, withinMs = WITHIN_MS } = {}) {
    this.#path = path;
    this.#read = read;
    this.#withinMs = withinMs;
  }

  /** A list that cannot be read is reported as a conflict. */
  async report(): Promise<CellsReport> {
    let cells: readonly CellEntry[];
    try {
      ({ cells } = await readCells(this.#path));
    } catch (error) {
      if (!(error instanceof CellError)) throw error;
      return { cells: [], conflicts: [error.reason], omitted: 0 };
    }
    const found = await Promise.all(cells.slice(0, MAX_CELLS).map((cell) => this.#statusOf(cell)));
    return { cells: found, conflicts: conflictsIn(found), omitted: Math.max(0, cells.length - MAX_CELLS) };
  }

  #statusOf(entry: CellEntry): Promise<CellStatus> {
    const { name, url } = entry;
    const { startedAtMs, status } = this.#open.get(name) ?? this.#begin(entry);
    const late = Promise.withResolvers<CellStatus>();
    const timer = setTimeout(() => {
      const seconds = Math.round((performance.now() - startedAtMs) / 1_000);
      late.resolve({ name, url, fault: `its database has not responded for ${seconds} s`, acquirers: [] });
    }, this.#withinMs);
    return Promise.race([status, late.promise]).finally(() => clearTimeout(timer));
  }

  #begin(entry: CellEntry): Reading {
    const { name, url } = entry;
    const status = withSecrets(entry)
      .then((cell) => this.#read(cell))
      .catch((error) => ({ name, url, fault: faultOf(error), acquirers: [] }))
      .finally(() => this.#open.delete(name));
    const reading = { startedAtMs: performance.now(), status };
    this.#open.set(name, reading);
    return reading;
  }
}
