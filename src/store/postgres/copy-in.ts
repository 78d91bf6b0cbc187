import { finished } from 'node:stream/promises';
import { from } from 'pg-copy-streams';
import type { Database } from './open-database.ts';

/**
 * Runs `copy … from stdin (format binary)` with the bytes, which the caller may overwrite afterwards. Statements
 * before it share its transaction.
 */
export async function copyIn(database: Database, statements: string, bytes: Uint8Array): Promise<void> {
  const client = await database.connect();
  try {
    const copy = client.query(from(statements));
    await finished(copy.end(bytes));
    client.release();
  } catch (error) {
    client.release(true); // an error may have left it in the middle of a copy, and errors are rare
    throw error;
  }
}
