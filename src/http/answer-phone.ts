import type { FastifyReply } from 'fastify';
import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import { isAwaitingPin } from '../transactions/model/pin.ts';
import type { Transaction } from '../transactions/model/transaction.ts';
import type { TransactionDependencies } from '../transactions/ports/transaction-dependencies.ts';
import { onlineAuthorizationOf } from './online-authorization.ts';
import { recordWhenFlushed } from './record-when-flushed.ts';

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
