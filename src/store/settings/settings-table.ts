import type pg from 'pg';
import type { RecordedKind } from '#schemas/admin-audit';
import type { Reach } from './admin-commit.ts';

/** Where a property is kept; `as` is what a row shows of it, null for what is never shown. */
export type Column = string | { readonly column: string; readonly as: string | null };

/** What names a row among those of its acquirer. */
export interface SettingsKey {
  /** The property, and its column. */
  readonly name: string;
  readonly column: string;
  /** Counted for each acquirer, among the settings themselves, or drawn by the database. */
  readonly from: 'count' | 'settings' | 'database';
}

/** One kind of thing that acquirers configure: its table, and the rules that its changes obey. */
export interface SettingsTable<Settings extends object, Stored extends object> {
  readonly kind: RecordedKind;
  readonly table: string;
  readonly key: SettingsKey;
  /** How many of them an acquirer may have that are not removed. */
  readonly most: number;
  readonly columns: Readonly<Record<keyof Settings & string, Column>>;
  /** What a row shows besides its key, its settings and its times: SQL by name. */
  readonly reads?: Readonly<Record<string, string>>;
  /** When a row was removed; without it rows are deleted. `isShown`: what is removed is still listed. */
  readonly removed?: { readonly column: string; readonly isShown: boolean };
  /** Of both new and changed settings: what schemas cannot say. @throws RequestRejected */
  check?(settings: Settings, acquirerId: number): void;
  /** Of both: do they name what is there? @throws RequestRejected */
  checkReferences?(client: pg.ClientBase, reach: Reach, settings: Settings): Promise<void>;
  /** @throws RequestRejected */
  checkChange?(before: Stored, settings: Settings): void;
  /** @throws RequestRejected */
  checkRemoval?(client: pg.ClientBase, acquirerId: number, id: number | string): Promise<void>;
}

type AnyTable = SettingsTable<never, never>;

/** The rows as they are shown, of the acquirer $1. */
export function selectionOf({ table, key, columns, reads = {}, removed }: AnyTable): string {
  const shown = Object.entries<Column>(columns).flatMap(([name, column]) => {
    const sql = typeof column === 'string' ? column : column.as;
    return sql === null ? [] : [`${sql} as "${name}"`];
  });
  const names = [
    ...(key.from === 'settings' ? [] : [`${key.column} as "${key.name}"`]),
    ...shown,
    ...Object.entries(reads).map(([name, sql]) => `${sql} as "${name}"`),
    'created_at as "createdAt"',
    'updated_at as "updatedAt"',
  ];
  const live = removed && !removed.isShown ? ` and ${removed.column} is null` : '';
  return `select ${names.join(', ')} from ${table} where acquirer_id = $1${live}`;
}

/** Columns and values of those settings that are given. */
export function assignmentsOf(table: AnyTable, settings: object): [column: string, value: unknown][] {
  return Object.entries<Column>(table.columns).flatMap(([name, column]): [string, unknown][] => {
    const value = settings[name as keyof typeof settings] as unknown;
    return value === undefined ? [] : [[typeof column === 'string' ? column : column.column, value]];
  });
}

/** A row as it is shown: times in ISO 8601. */
export function shown<Stored>(row: object): Stored {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(entries) as Stored;
}
