import { CellError } from './cell-error.ts';
import { type Cell, type CellEntry, readCells, withSecrets } from './cell-list.ts';
import { type CellStatus, conflictsIn, faultOf, readStatus } from './cell-status.ts';

/** A person waits for this long at most; a cell that answers later is shown with the next look. */
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
 * The state of the cells for people who watch them. A cell that does not answer delays no other cell, and is not asked again
 * while an earlier question is open.
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
      late.resolve({ name, url, fault: `its database has not answered for ${seconds} s`, acquirers: [] });
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
