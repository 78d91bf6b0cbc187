import { migrationSteps } from '../../src/store/postgres/migrate.ts';

const INDEX = /^create (?:unique )?index (concurrently )?(if not exists )?(?:\w+ )?on (?:only )?(\w+)/i;
const TABLE = /^create (?:unlogged )?table (?:if not exists )?(\w+)/i;
const ALTER = /^alter table (?:if exists )?(?:only )?(\w+)\s+(.*)$/is;
const ROWS = /^(?:update|delete from) (\w+)/i;

/** Tables with few rows, or whose lock makes only changes of settings wait. */
const MAY_BE_LOCKED: ReadonlySet<string> = new Set(['database_epoch', 'admin_events']);

/** What makes the statements of taps wait for a migration, as far as its text shows. */
export function faultsOf(text: string): string[] {
  const { isTransaction, steps } = migrationSteps(text);
  const statements = steps.flatMap(({ sql }) =>
    sql
      .replace(/--.*$/gm, '')
      .split(/;\s*$/m)
      .map((each) => each.trim())
      .filter((each) => each !== ''),
  );
  const created = new Set([...MAY_BE_LOCKED, ...statements.flatMap((sql) => TABLE.exec(sql)?.[1] ?? [])]);
  return statements.flatMap((sql) => faultOf(sql, created, isTransaction) ?? []);
}

function faultOf(sql: string, created: ReadonlySet<string>, isTransaction: boolean): string | undefined {
  const [, concurrently, ifNotExists, indexed] = INDEX.exec(sql) ?? [];
  if (concurrently && isTransaction) return 'write -- Statement by statement in the first line';
  if (concurrently && !ifNotExists) return 'write if not exists, because statements are repeated';
  if (indexed && !concurrently && !created.has(indexed)) return `${indexed}: create the index concurrently`;
  if (/^drop index (?!concurrently)/i.test(sql)) return 'drop the index concurrently';
  if (/^reindex (?!.*concurrently)/i.test(sql)) return 'reindex concurrently';
  const [, written] = ROWS.exec(sql) ?? [];
  if (written && !created.has(written)) return `${written}: change rows in batches, outside of migrations`;
  const [, table, changes = ''] = ALTER.exec(sql) ?? [];
  if (table === undefined || created.has(table)) return undefined;
  const fault = faultOfChanges(changes);
  return fault && `${table}: ${fault}`;
}

function faultOfChanges(changes: string): string | undefined {
  if (/\badd (?:constraint \w+ )?(?:check|foreign key)\b/i.test(changes) && !/\bnot valid\b/i.test(changes))
    return 'add the constraint not valid, then validate it';
  if (/\badd (?:constraint \w+ )?(?:unique|primary key)\b/i.test(changes) && !/\busing index\b/i.test(changes))
    return 'add the key using an index';
  if (/\bset not null\b/i.test(changes)) return 'add a validated check before set not null';
  const isRewritten =
    /\balter (?:column )?\w+ (?:set data )?type\b/i.test(changes) ||
    /\badd (?:column )?.*\bgenerated\b/is.test(changes) ||
    /\badd column\b[^,]*\bdefault [^,]*\w+\(/i.test(changes);
  return isRewritten ? 'a table must not be written again' : undefined;
}
