import type { FastifyReply } from 'fastify';
import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import { isAwaitingPin } from '../payments/model/pin.ts';
import type { Transaction } from '../payments/model/transaction.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import { recordAnswer } from '../payments/reversals/overdue.ts';
import { onlineAuthorizationOf } from './online-authorization.ts';

/** Sends the response of 4.4 and 4.5 from the committed row, and records when it has reached the phone. */
export async function answerPhone(
  deps: TransactionDependencies,
  transaction: Transaction,
  reply: FastifyReply,
): Promise<{ onlineAuthorizationResponse: OnlineAuthorization }> {
  const pinToken = isAwaitingPin(transaction) ? await deps.pinTokens.issue(transaction) : undefined;
  recordWhenFlushed(deps, transaction, reply);
  return { onlineAuthorizationResponse: onlineAuthorizationOf(transaction, deps.vault, pinToken) };
}

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
