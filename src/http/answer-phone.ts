import type { FastifyReply } from 'fastify';
import type { OnlineAuthorization } from '#schemas/mobile-transaction';
import { isAwaitingPin } from '../transactions/model/pin.ts';
import type { Transaction } from '../transactions/model/transaction.ts';
import type { TransactionDependencies } from '../transactions/ports/transaction-dependencies.ts';
import { onlineAuthorizationOf } from './online-authorization.ts';
import { recordWhenFlushed } from './record-when-flushed.ts';

/** The answer of 4.4 and 4.5, from the committed row; that it reached the phone is recorded when it has. */
export async function answerPhone(
  deps: TransactionDependencies,
  transaction: Transaction,
  reply: FastifyReply,
): Promise<{ onlineAuthorizationResponse: OnlineAuthorization }> {
  const pinToken = isAwaitingPin(transaction) ? await deps.pinTokens.issue(transaction) : undefined;
  recordWhenFlushed(deps, transaction, reply);
  return { onlineAuthorizationResponse: onlineAuthorizationOf(transaction, deps.vault, pinToken) };
}
