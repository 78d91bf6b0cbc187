import { readCellsFile } from '../start/config.ts';
import {
  type Cell,
  CellError,
  type CellsFile,
  cellName,
  findCell,
  readCells,
  withSecrets,
  writeCells,
} from '../tools/cells/cell-list.ts';
import { openCellSession } from '../tools/cells/cell-session.ts';
import {
  type CellStatus,
  conflictsIn,
  firstAcquirerOf,
  readStatus,
  reserveNumbers,
} from '../tools/cells/cell-status.ts';
import { finishWithoutSource } from '../tools/cells/finish-move.ts';
import { moveAcquirer } from '../tools/cells/move-acquirer.ts';
import { findSource, onReachableCells } from '../tools/cells/ownership.ts';
import { hostsOf, setBackend, withFileLock } from '../tools/cells/proxy-map.ts';
import { forgetAcquirer, recoverAcquirer, undoMove } from '../tools/cells/undo-move.ts';
import { checkedBy } from './administration.ts';
import { flag, idOf, needed, readOptions, text } from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { type Columns, listOf, printList } from './output.ts';

/** `tapwire cell ...`: several installations that each serve some of the acquirers (src/tools/cells/README.md). */
export const commands: Commands = {
  list: command('[--json]: show the cells of the list', list),
  add: command('--name CELL --url URL --database URL [--replication URL] [--backend NAME]: add a cell', add),
  status: command('[--json]: show which cell serves which acquirer; exit code 1 if a person must act', status),
  move: command('--acquirer ID --to CELL [--undo]: move an acquirer, or continue an interrupted move', move),
  recover: command('--acquirer ID --in CELL --lost CELL: end a move whose other database is lost permanently', recover),
  forget: command('--acquirer ID --in CELL: remove the rows that a move has left behind', forget),
};

function listPath(): string {
  return readCellsFile(process.env);
}

function noCells(): string {
  return `There are no cells in ${listPath()}. This installation is a single one unless you add cells:
  tapwire cell add --name a --url https://a.internal --database env:CELL_A_DATABASE_URL`;
}

async function list(args: string[]): Promise<void> {
  const values = readOptions(args, { json: flag });
  const { cells } = await readCells(listPath());
  if (cells.length === 0 && !values.json) console.log(noCells());
  else printList(cells, CELL_COLUMNS, values.json);
}

const CELL_COLUMNS: Columns<Omit<Cell, 'databaseUrl' | 'replicationUrl'>> = {
  titles: ['CELL', 'URL', 'BACKEND', 'FIRST ACQUIRER'],
  cellsOf: (cell) => [cell.name, cell.url, cell.backend, String(firstAcquirerOf(cell))],
};

async function add(args: string[]): Promise<void> {
  const values = readOptions(args, { name: text, url: text, database: text, replication: text, backend: text });
  const name = checkedBy(cellName, needed(values.name, '--name: expected the name of the new cell'));
  const { url = '', database = '', replication, backend = `cell-${name}` } = values;
  const given = { name, url, database, backend, ...(replication && { replication }) };
  // The next number is also the reason for the lock: it decides which numbers new acquirers get.
  const entry = await withFileLock(listPath(), async () => {
    const known = await readCells(listPath());
    const added = { ...given, number: Math.max(-1, ...known.cells.map((cell) => cell.number)) + 1 };
    await reserveNumbersIn(await withSecrets(added));
    await writeCells(listPath(), { ...known, cells: [...known.cells, added] });
    return added;
  });
  console.log(listOf([entry], CELL_COLUMNS));
}

async function reserveNumbersIn(cell: Cell): Promise<void> {
  const session = await openCellSession(cell);
  try {
    await reserveNumbers(session);
  } finally {
    await session.close();
  }
}

async function status(args: string[]): Promise<number> {
  const values = readOptions(args, { json: flag });
  const { cells } = await readCells(listPath());
  const found = await Promise.all(cells.map(async (cell) => readStatus(await withSecrets(cell))));
  const conflicts = conflictsIn(found);
  if (values.json) console.log(JSON.stringify({ cells: found, conflicts }, null, 2));
  else if (cells.length === 0) console.log(noCells());
  else {
    const rows = found.flatMap((cell) => cell.acquirers.map((acquirer) => ({ cell: cell.name, ...acquirer })));
    console.log(listOf(rows, STATUS_COLUMNS));
    for (const conflict of conflicts) console.log(`! ${conflict}`);
  }
  return conflicts.length > 0 ? 1 : 0;
}

const STATUS_COLUMNS: Columns<{ readonly cell: string } & CellStatus['acquirers'][number]> = {
  titles: ['CELL', 'ACQUIRER', 'NAME', 'STATE', 'MOVES', 'OTHER CELL', 'LAST STEP'],
  cellsOf: ({ cell, id, name, state, generation, peer, lastStep }) => [
    ...[cell, String(id), name, state, String(generation)],
    ...[peer ?? '', lastStep ?? ''],
  ],
};

async function move(args: string[]): Promise<void> {
  const values = readOptions(args, { acquirer: text, to: text, undo: flag });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const to = needed(values.to, '--to: expected the name of a cell');
  const known = await readCells(listPath());
  const target = await findCell(known, to);
  await onReachableCells(known.cells, target, async (reachable, to) => {
    const source = await findSource(reachable, to, acquirerId);
    const { proxy } = known;
    if (values.undo) {
      if (!source) throw new CellError('CANNOT_MOVE', `${to.cell.name} has taken acquirer ${acquirerId} over.`);
      await undoMove({ source, target: to, acquirerId });
      console.log(`The move is undone: ${source.cell.name} serves acquirer ${acquirerId}.`);
      return;
    }
    const print = stepPrinter();
    const flip = flipTo(known, to.cell, acquirerId, print);
    const options = { target: to, acquirerId, flip, onStep: print };
    await (source ? moveAcquirer({ ...options, source }) : finishWithoutSource(options));
    const hosts = proxy ? ` Its hosts are ${hostsOf(proxy, acquirerId).join(', ')}.` : '';
    console.log(`${to.cell.name} serves acquirer ${acquirerId}.${hosts}`);
  });
}

type PrintStep = (step: string, detail?: string) => void;

function stepPrinter(): PrintStep {
  const startedAtMs = performance.now();
  return (step, detail = '') =>
    console.log(
      `${((performance.now() - startedAtMs) / 1_000).toFixed(3).padStart(9)} s  ${step.padEnd(12)} ${detail}`.trimEnd(),
    );
}

function flipTo({ proxy }: CellsFile, to: Cell, acquirerId: number, print: PrintStep): () => Promise<void> {
  return async () => {
    if (proxy) await setBackend(proxy, acquirerId, to.backend);
    else print('', `no proxy is in the list: send the requests of acquirer ${acquirerId} to ${to.url} now`);
  };
}

async function recover(args: string[]): Promise<void> {
  const values = readOptions(args, { acquirer: text, in: text, lost: text });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const name = needed(values.in, '--in: expected the name of the cell that remains');
  const lost = needed(values.lost, '--lost: expected the name of the cell that is lost');
  const known = await readCells(listPath());
  const cell = await findCell(known, name);
  await refuseIfItResponds(known, lost);
  const survivor = await openCellSession(cell);
  const print = stepPrinter();
  try {
    const flip = flipTo(known, cell, acquirerId, print);
    await recoverAcquirer({ survivor, lost, acquirerId, flip, onStep: print });
  } finally {
    await survivor.close();
  }
  console.log(`${name} serves acquirer ${acquirerId}. Never start the database of ${lost} again.`);
}

/** @throws CellError CANNOT_MOVE: two cells would serve the acquirer if the other one could also take it over */
async function refuseIfItResponds({ cells }: CellsFile, lost: string): Promise<void> {
  const entry = cells.find((each) => each.name === lost);
  if (!entry) return; // it was removed from the list
  const session = await openCellSession(await withSecrets(entry)).catch((error: unknown) => {
    if (!(error instanceof CellError) || error.code !== 'CELL_UNREACHABLE') throw error;
    const isRefusal = (error.cause as { severity?: string } | undefined)?.severity !== undefined;
    return isRefusal ? 'refused' : undefined; // a server that refuses a password, or is starting, is not lost
  });
  if (!session) return;
  if (session !== 'refused') await session.close();
  throw new CellError('CANNOT_MOVE', `The database of ${lost} responds. Run the move again, or undo it.`);
}

async function forget(args: string[]): Promise<void> {
  const values = readOptions(args, { acquirer: text, in: text });
  const acquirerId = idOf(values.acquirer, '--acquirer');
  const name = needed(values.in, '--in: expected the name of a cell');
  const known = await readCells(listPath());
  const former = await findCell(known, name);
  await onReachableCells(known.cells, former, async (reachable, left) => {
    const current = await findSource(reachable, left, acquirerId);
    if (!current) throw new CellError('CANNOT_MOVE', `${former.name} serves acquirer ${acquirerId}.`);
    await forgetAcquirer(left, current, acquirerId);
  });
  console.log(`${former.name} has no rows of acquirer ${acquirerId}.`);
}
