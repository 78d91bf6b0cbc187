/** A statement of a migration. */
export interface MigrationStep {
  readonly sql: string;
  /** Whether it takes a lock for which the statements of taps have to wait. */
  readonly blocksTaps: boolean;
  /** The index that it creates concurrently. */
  readonly index?: string | undefined;
}

export interface MigrationText {
  /** Whether all statements are one transaction; otherwise each is one, or cannot be in any. */
  readonly isTransaction: boolean;
  readonly steps: readonly MigrationStep[];
}

/** The first line of a file whose statements do not share a transaction. */
const ONE_BY_ONE = '-- Statement by statement';

const CONCURRENT_INDEX = /^create (?:unique )?index concurrently if not exists (\w+)/i;
/** These wait for transactions in progress, and nothing waits for them but other changes of the schema. */
const BLOCKS_NO_TAPS = [CONCURRENT_INDEX, /^drop index concurrently /i, /^alter table \S+ validate constraint /i];

/**
 * Reads the file of a migration. Without a common transaction, empty lines separate statements, because the server
 * would execute statements that it receives together as one transaction.
 */
export function migrationSteps(text: string): MigrationText {
  const isTransaction = !text.startsWith(ONE_BY_ONE);
  if (isTransaction) return { isTransaction, steps: [stepOf(text)] };
  const statements = text.split(/\n\s*\n/).map(withoutComments);
  return { isTransaction, steps: statements.filter((sql) => sql !== '').map(stepOf) };
}

function withoutComments(sql: string): string {
  return sql.replace(/^--.*\n?/gm, '').trim();
}

function stepOf(sql: string): MigrationStep {
  const index = CONCURRENT_INDEX.exec(sql)?.[1];
  return { sql, index, blocksTaps: !BLOCKS_NO_TAPS.some((pattern) => pattern.test(sql)) };
}
