import { UnfitValue } from '../../basics/errors.ts';

/** Type of a column, sent in the binary form that Postgres's own `…_recv` functions read. */
export type ColumnKind = 'integer' | 'bigint' | 'float8' | 'text' | 'uuid' | 'jsonb' | 'boolean' | 'bytes' | 'ms';

/** Columns by the name of the property that fills them. */
export type ColumnList = Readonly<Record<string, ColumnKind>>;

interface ValueOf {
  readonly integer: number;
  /** Up to 2^53. */
  readonly bigint: number;
  readonly float8: number;
  readonly text: string;
  readonly uuid: string;
  readonly jsonb: unknown;
  readonly boolean: boolean;
  readonly bytes: Uint8Array;
  /** Milliseconds since 1970; a timestamptz in Postgres. */
  readonly ms: number;
}

/** One row of a batch. An absent property is null. */
export type RowOf<Columns extends ColumnList> = {
  readonly [Property in keyof Columns]?: ValueOf[Columns[Property]] | null | undefined;
};

/**
 * Many rows as parameters of one statement: each parameter is a whole column as a binary array. Compared to one JSON
 * text for all rows and `json_to_recordset`, this takes a third less of Postgres's time for a new transaction of 60
 * columns (55 us instead of 77), and bytes need no base64.
 */
export class ColumnBatch<Columns extends ColumnList> {
  /** The rows as a query, `select unnest($1::integer[]) as "acquirerId", ...`. A column with only nulls is absent. */
  readonly rows: string;
  readonly #columns: readonly { readonly property: keyof Columns; readonly kind: ColumnKind }[];

  /** @param after the number of parameters of the statement before those of the batch */
  constructor(columns: Columns, after = 0) {
    this.#columns = Object.entries(columns).map(([property, kind]) => ({ property, kind }));
    const unnested = Object.entries(columns).map(
      ([property, kind], n) => `unnest($${after + n + 1}::${KINDS[kind].type}[]) as "${property}"`,
    );
    this.rows = `select ${unnested.join(', ')}`;
  }

  /** The number of its parameters. */
  get width(): number {
    return this.#columns.length;
  }

  /** The statement's parameters. @throws UnfitValue */
  values(rows: readonly RowOf<Columns>[]): (Buffer | null)[] {
    return this.#columns.map(({ property, kind }) => columnOf(kind, rows, property));
  }
}

/** `amountMinor, currency` -> `amount_minor, currency`. */
export function columnNames(columns: ColumnList): string {
  return Object.keys(columns).map(columnName).join(', ');
}

/** `x."amountMinor", x."currency"`: the values of these columns in a statement that has the batch's rows as `x`. */
export function columnValues(columns: ColumnList): string {
  return Object.keys(columns)
    .map((property) => `x."${property}"`)
    .join(', ');
}

/** `amount_minor = x."amountMinor", ...`: the assignments of an update that takes these columns from `x`. */
export function assignments(columns: ColumnList): string {
  return Object.keys(columns)
    .map((property) => `${columnName(property)} = x."${property}"`)
    .join(', ');
}

/** `createdAtMs` -> `created_at`: a column of time has no unit in its name. */
export function columnName(property: string): string {
  return property.replace(/AtMs$/, 'At').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

interface Kind {
  readonly type: string;
  /** Of the element type, in pg_type; fixed for built-in types. */
  readonly oid: number;
  /** Enough bytes for any value of the kind. */
  room(value: never): number;
  /** Writes the value at the offset, where there is enough room. @returns its length */
  write(into: Buffer, value: never, offset: number): number;
}

/** Header of an array: dimensions, null flag, the element type's oid, length, lower bound (array_recv). */
const HEADER_LENGTH = 20;
/** Replaces an element's length. */
const NULL = -1;
/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const MAX_UTF8 = 3;
const EPOCH_2000_MS = 946_684_800_000;
/** Version before the text of a jsonb (jsonb_recv). */
const JSONB_VERSION = 1;

const text = (type: string, oid: number): Kind => ({
  type,
  oid,
  room: (value: string) => value.length * MAX_UTF8,
  write: (into, value: string, offset) => into.write(value, offset),
});

const KINDS: Readonly<Record<ColumnKind, Kind>> = {
  integer: {
    type: 'integer',
    oid: 23,
    room: () => 4,
    write: (into, value: number, offset) => {
      if (!Number.isInteger(value) || value !== (value | 0)) throw new UnfitValue('22003', 'integer');
      return into.writeInt32BE(value, offset) - offset;
    },
  },
  bigint: {
    type: 'bigint',
    oid: 20,
    room: () => 8,
    write: (into, value: number, offset) => writeInt64(into, value, offset),
  },
  float8: {
    type: 'float8',
    oid: 701,
    room: () => 8,
    write: (into, value: number, offset) => into.writeDoubleBE(value, offset) - offset,
  },
  text: text('text', 25),
  uuid: { type: 'uuid', oid: 2950, room: () => 16, write: writeUuid },
  jsonb: {
    type: 'jsonb',
    oid: 3802,
    room: (value: string) => 1 + value.length * MAX_UTF8,
    write: (into, value: string, offset) => {
      into[offset] = JSONB_VERSION;
      return 1 + into.write(value, offset + 1);
    },
  },
  boolean: {
    type: 'boolean',
    oid: 16,
    room: () => 1,
    write: (into, value: boolean, offset) => into.writeUInt8(value ? 1 : 0, offset) - offset,
  },
  bytes: {
    type: 'bytea',
    oid: 17,
    room: (value: Uint8Array) => value.length,
    write: (into, value: Uint8Array, offset) => {
      into.set(value, offset);
      return value.length;
    },
  },
  ms: {
    type: 'timestamptz',
    oid: 1184,
    room: () => 8,
    write: (into, value: number, offset) => writeInt64(into, Math.round((value - EPOCH_2000_MS) * 1_000), offset),
  },
};

/** @returns null for a column without a value: `unnest` next to longer columns yields nulls for it */
function columnOf<Row extends object>(kind: ColumnKind, rows: readonly Row[], property: PropertyKey): Buffer | null {
  const { oid, room, write } = KINDS[kind];
  const values = rows.map((row) => {
    const value = (row as Record<PropertyKey, unknown>)[property] ?? null;
    return kind === 'jsonb' && value !== null ? JSON.stringify(value) : value;
  }) as never[];
  let length = HEADER_LENGTH;
  let hasValue = false;
  for (const value of values) {
    length += 4;
    if (value === null) continue;
    hasValue = true;
    length += room(value);
  }
  if (!hasValue) return null;
  const array = Buffer.allocUnsafe(length);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(1, 4);
  array.writeInt32BE(oid, 8);
  array.writeInt32BE(values.length, 12);
  array.writeInt32BE(1, 16);
  let end = HEADER_LENGTH;
  for (const value of values) {
    const written = value === null ? NULL : write(array, value, end + 4);
    array.writeInt32BE(written, end);
    end += 4 + (value === null ? 0 : written);
  }
  return array.subarray(0, end);
}

/** In two halves: a BigInt for each amount would cost more than the rest of its row. */
function writeInt64(into: Buffer, value: number, offset: number): number {
  if (!Number.isSafeInteger(value)) throw new UnfitValue('22003', 'bigint');
  const high = Math.floor(value / 0x1_0000_0000);
  into.writeInt32BE(high, offset);
  into.writeUInt32BE(value - high * 0x1_0000_0000, offset + 4);
  return 8;
}

const HYPHEN = 45;
const UUID_LENGTH = 36;
/** By character code; 255 marks a character that is not a digit. */
const NIBBLES = Uint8Array.from({ length: 128 }, (_, code) => {
  const nibble = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(nibble) ? 255 : nibble;
});

function writeUuid(into: Buffer, uuid: string, offset: number): number {
  let at = offset;
  for (let n = 0; n < uuid.length && at < offset + 16; n += 2) {
    if (uuid.charCodeAt(n) === HYPHEN) n++;
    const high = NIBBLES[uuid.charCodeAt(n)] ?? 255;
    const low = NIBBLES[uuid.charCodeAt(n + 1)] ?? 255;
    if (high === 255 || low === 255) break;
    into[at++] = (high << 4) | low;
  }
  if (uuid.length !== UUID_LENGTH || at !== offset + 16) throw new UnfitValue('22P02', 'uuid');
  return 16;
}
