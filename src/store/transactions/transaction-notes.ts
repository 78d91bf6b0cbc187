import { randomUUID } from 'node:crypto';
import { MAX_NOTES, type TransactionNote } from '#schemas/transaction-note';
import { NotFound, RequestRejected } from '../../basics/errors.ts';
import type { TransactionKey } from '../../payments/model/transaction.ts';
import { type Database, mapConnectionLoss } from '../postgres/open-database.ts';
import { inAdminCommit, recordChange } from '../settings/admin-commit.ts';

/** Notes of an acquirer's staff on its transactions. A note is never changed. */

const OF_TRANSACTION = 'acquirer_id = $1 and transaction_id = $2';

/** No row unless the acquirer has the transaction. */
const COUNT = `select (select count(*)::int from transaction_notes where ${OF_TRANSACTION}) as notes
from transactions where acquirer_id = $1 and id = $2`;

/** Oldest first. */
export async function findNotes(
  database: Pick<Database, 'query'>,
  { acquirerId, id }: TransactionKey,
): Promise<TransactionNote[]> {
  const text = `select id, text, author, written_at as at from transaction_notes where ${OF_TRANSACTION} order by written_at, id`;
  const { rows } = await mapConnectionLoss(
    database.query<Omit<TransactionNote, 'at'> & { at: Date }>(text, [acquirerId, id]),
  );
  return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
}

/** @throws NotFound unless the acquirer has the transaction */
export async function findNotesOf(database: Database, key: TransactionKey): Promise<TransactionNote[]> {
  const { rowCount } = await mapConnectionLoss(database.query(COUNT, [key.acquirerId, key.id]));
  if (rowCount === 0) throw new NotFound();
  return findNotes(database, key);
}

/**
 * Adds a note, with its admin event. The event names the note without its text, because events are kept for longer than a
 * note may have to be.
 *
 * @param author as admin events name authors
 * @throws NotFound unless the acquirer has the transaction; RequestRejected (TOO_MANY_NOTES)
 */
export function addNote(
  database: Database,
  { acquirerId, id }: TransactionKey,
  { text, author }: Pick<TransactionNote, 'text' | 'author'>,
): Promise<TransactionNote> {
  return inAdminCommit(database, acquirerId, async (client) => {
    const present = await client.query<{ notes: number }>(COUNT, [acquirerId, id]);
    if (!present.rows[0]) throw new NotFound();
    if (present.rows[0].notes >= MAX_NOTES) throw new RequestRejected('TOO_MANY_NOTES');
    const noteId = randomUUID();
    const { rows } = await client.query<{ at: Date }>(
      `insert into transaction_notes (acquirer_id, id, transaction_id, text, author) values ($1, $2, $3, $4, $5)
       returning written_at as at`,
      [acquirerId, noteId, id, text, author],
    );
    const event = { action: 'act', kind: 'transactions', id, before: null, after: { did: 'addNote', noteId } } as const;
    await recordChange(client, { acquirerId, actor: author }, event);
    return { id: noteId, text, author, at: rows[0]!.at.toISOString() };
  });
}
