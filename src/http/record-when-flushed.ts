import type { FastifyReply } from 'fastify';
import type { Transaction } from '../transactions/model/transaction.ts';
import type { TransactionDependencies } from '../transactions/ports/transaction-dependencies.ts';
import { recordAnswer } from '../transactions/reversal/overdue.ts';

/**
 * Records 7 -> 8 when the last byte was sent to the phone, and 7 -> 9 if the phone had disconnected. No request waits
 * for this record.
 */
export function recordWhenFlushed(deps: TransactionDependencies, transaction: Transaction, reply: FastifyReply): void {
  const { raw } = reply;
  // A problem was sent before: the request was overdue, so the phone did not get this outcome.
  const isOverdue = reply.sent;
  const record = () => recordAnswer(deps, transaction, raw.writableFinished && !isOverdue);
  if (raw.closed)
    record(); // the phone disconnected while the switch was asked
  else raw.once('close', record);
}
