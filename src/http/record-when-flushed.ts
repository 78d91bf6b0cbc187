import type { FastifyReply } from 'fastify';
import type { Transaction } from '../transactions/model/transaction.ts';
import type { TransactionDependencies } from '../transactions/ports/transaction-dependencies.ts';
import { recordAnswer } from '../transactions/reversal/overdue.ts';

/** 7 -> 8 when the last byte left for the phone, 7 -> 9 when the phone was gone. Nobody waits for the record. */
export function recordWhenFlushed(deps: TransactionDependencies, transaction: Transaction, reply: FastifyReply): void {
  const { raw } = reply;
  // Sent before: the request was overdue, and the phone has a problem instead of this outcome.
  const isOverdue = reply.sent;
  const record = () => recordAnswer(deps, transaction, raw.writableFinished && !isOverdue);
  if (raw.closed)
    record(); // the phone hung up while the switch was asked
  else raw.once('close', record);
}
