import { readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { UserFixableError } from '../../basics/errors.ts';
import { DATABASE_URL_FORM, isDatabaseUrl } from '../../store/postgres/open-database.ts';

/** Why an acquirer cannot be moved, or the list of cells cannot be used. */
export type CellErrorCode = 'CELLS_INVALID' | 'CELL_UNREACHABLE' | 'CANNOT_MOVE' | 'NOT_DRAINED' | 'MOVE_STUCK';

export class CellError extends UserFixableError<CellErrorCode> {}

/** Acquirer numbers are Postgres integers. */
const MAX_CELLS = 2_000;

/** `env:NAME` or `file:PATH` keeps a password out of the list. */
const urlReference = z.string().regex(/^(env:[A-Z_][A-Z0-9_]*|file:.+|postgres(ql)?:\/\/.+)$/, {
  error: 'must be env:NAME, file:PATH or a postgres:// URL',
});

export const cellName = z.string().regex(/^[a-z][a-z0-9-]{0,30}$/, {
  error: 'must be at most 31 small letters, digits and hyphens, beginning with a letter',
});

const cellEntry = z.strictObject({
  name: cellName,
  /** Where clients reach the cell itself, without the proxy. */
  url: z.url({ protocol: /^https?$/ }),
  database: urlReference,
  /** The same database as the Postgres servers of other cells reach it; by default `database`. */
  replication: urlReference.optional(),
  /** Name of the cell's backend in the configuration of HAProxy. */
  backend: z.string().regex(/^[\w.:-]+$/),
  /** Its position, which decides which numbers its new acquirers get. */
  number: z
    .int()
    .min(0)
    .max(MAX_CELLS - 1),
});

const proxy = z.strictObject({
  /** The map file from host names to backends; HAProxy reads it when it starts. */
  map: z.string().min(1),
  /** Sockets of the runtime API of each running HAProxy: a path, or host:port. */
  sockets: z.array(z.string().min(1)).default([]),
  /** Host names of an acquirer, with `{acquirer}` for its number. */
  hosts: z.array(z.string().regex(/\{acquirer\}/, { error: 'must contain {acquirer}' })).min(1),
});

const cellsFile = z
  .strictObject({ cells: z.array(cellEntry).max(MAX_CELLS), proxy: proxy.optional() })
  .superRefine(({ cells }, context) => {
    for (const key of ['name', 'number', 'backend'] as const) {
      const repeated = cells.map((cell) => cell[key]).filter((value, at, all) => all.indexOf(value) !== at);
      if (repeated.length > 0) context.addIssue(`cells: ${key} ${repeated[0]} occurs twice`);
    }
  });

export type CellsFile = z.infer<typeof cellsFile>;
export type CellEntry = z.infer<typeof cellEntry>;
export type ProxySettings = z.infer<typeof proxy>;

/** A cell with its secrets. */
export interface Cell extends Omit<CellEntry, 'database' | 'replication'> {
  readonly databaseUrl: string;
  readonly replicationUrl: string;
}

/** @returns an empty list if the file does not exist. @throws CellError CELLS_INVALID */
export async function readCells(path: string): Promise<CellsFile> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return { cells: [] };
    throw new CellError('CELLS_INVALID', `The list of cells ${path} cannot be read.`, { cause });
  }
  return checked(parseJson(text, path), path);
}

/** Replaces the file as a whole, so that a reader never sees half of it. */
export async function writeCells(path: string, cells: CellsFile): Promise<void> {
  const text = `${JSON.stringify(checked(cells, path), null, 2)}\n`;
  const fresh = `${path}.${process.pid}.new`;
  await writeFile(fresh, text, { mode: 0o600 });
  await rename(fresh, path);
}

/** @throws CellError CELLS_INVALID if there is no such cell, or its reference leads to nothing */
export async function findCell({ cells }: CellsFile, name: string): Promise<Cell> {
  const entry = cells.find((cell) => cell.name === name);
  if (entry) return withSecrets(entry);
  const known = cells.map((cell) => cell.name).join(', ') || 'none';
  throw new CellError('CELLS_INVALID', `There is no cell ${name}. Known cells: ${known}.`);
}

/** @throws CellError CELLS_INVALID if a reference leads to nothing, or to text that is no URL of a database */
export async function withSecrets({ database, replication, ...entry }: CellEntry): Promise<Cell> {
  const databaseUrl = await resolve(database, entry.name);
  return { ...entry, databaseUrl, replicationUrl: replication ? await resolve(replication, entry.name) : databaseUrl };
}

/** Postgres quotes the text around an escape that it cannot read, so a wrong one must not reach it. */
function isReadable(url: string): boolean {
  try {
    decodeURIComponent(url);
    return isDatabaseUrl(url);
  } catch {
    return false;
  }
}

async function resolve(reference: string, name: string): Promise<string> {
  const url = await follow(reference, name);
  if (isReadable(url)) return url;
  const what = `The database URL of cell ${name} is invalid. Expected ${DATABASE_URL_FORM}, with %25 for a percent sign in the password.`;
  throw new CellError('CELLS_INVALID', what);
}

async function follow(reference: string, name: string): Promise<string> {
  const fault = (what: string) => new CellError('CELLS_INVALID', `The database of cell ${name}: ${what}.`);
  if (reference.startsWith('env:')) {
    const variable = reference.slice('env:'.length);
    const value = process.env[variable];
    if (value === undefined) throw fault(`the environment variable ${variable} is not set`);
    return value;
  }
  if (!reference.startsWith('file:')) return reference;
  const path = reference.slice('file:'.length);
  const text = await readFile(path, 'utf8').catch(() => {
    throw fault(`the file ${path} cannot be read`);
  });
  return text.trim();
}

function checked(given: unknown, path: string): CellsFile {
  const { data, error } = cellsFile.safeParse(given);
  if (data) return data;
  const faults = error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`.trim());
  throw new CellError('CELLS_INVALID', `The list of cells ${path} is invalid: ${faults.join('; ')}.`);
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CellError('CELLS_INVALID', `The list of cells ${path} is not JSON.`, { cause });
  }
}
