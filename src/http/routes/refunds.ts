import type { FastifyRequest } from 'fastify';
import { OPERATIONS } from '#schemas/operations';
import type { RefundResponse, VoidResponse } from '#schemas/refund';
import { NotFound } from '../../basics/errors.ts';
import { type DispositionId, dispositionName } from '../../payments/model/disposition.ts';
import type { Transaction } from '../../payments/model/transaction.ts';
import type { TransactionReader } from '../../payments/ports/store-ports.ts';
import type { UseCases } from '../../payments/use-cases.ts';
import type { RouteGuards } from '../idempotency.ts';
import { recordWhenFlushed, switchResponseOf } from '../respond-to-phone.ts';
import type { Server } from '../server.ts';
import { amountOf } from '../transaction-view.ts';
import { routeOf, withZod } from '../with-zod.ts';

const RIGHT =
  'A merchant JWT needs the right `transactions:refund`, either in its claims `scope` or `permissions` or from its registered user.';

/** Refund and void of a sale (extensions that 2.12 promises), for the tenants to which the sale belongs. */
export function registerRefundRoutes(
  server: Server,
  { authenticator, idempotent }: RouteGuards,
  { refunds, voids, outcomes }: UseCases,
  transactions: TransactionReader,
): void {
  // Runs before the body is read: only the headers of an unknown caller are read.
  const identify = async (request: FastifyRequest) => {
    request.owner = await authenticator.owner(request.headers, 'transactions:refund');
  };
  const findSale = async (request: FastifyRequest, id: string): Promise<Transaction> => {
    const sale = await transactions.findOwned(request.owner!, id);
    if (!sale) throw new NotFound();
    return sale;
  };

  withZod(server).route({
    ...routeOf(OPERATIONS.refundSale, 200),
    config: {
      facts: {
        summary: 'Refund a sale',
        section: 'extension',
        waitsForSwitch: true,
        takes: ['acquirerKey', 'integratorKey', 'merchantKey', 'merchantToken', 'loginToken'],
        scope: 'transactions:refund',
        description: `Refunds an approved sale, in part or in full, and waits for the outcome. The refund is a separate transaction. The sum of all refunds cannot exceed the approved amount. While the sale, a refund or a void of it needs review, the response is 213 until the acquirer has resolved it. ${RIGHT}`,
        problems: { 400: [104], 409: [104, 124, 212, 213], 500: [208], 503: [203] },
      },
    },
    onRequest: identify,
    ...idempotent,
    handler: async (request, reply) => {
      const sale = await findSale(request, request.params.id);
      const { amount, refundReference } = request.body;
      const refunded = await refunds.refund(sale, {
        amount: String(amount),
        refundReference,
        correlationId: request.correlationId,
      });
      recordWhenFlushed(outcomes, refunded, reply);
      return refundResponseOf(refunded);
    },
  });

  withZod(server).route({
    ...routeOf(OPERATIONS.voidSale, 202),
    config: {
      facts: {
        summary: 'Void a sale',
        section: 'extension',
        takes: ['acquirerKey', 'integratorKey', 'merchantKey', 'merchantToken', 'loginToken'],
        scope: 'transactions:refund',
        description: `Cancels an approved sale in full. Possible only before settlement and without refunds, and not while the sale, a refund or a void of it needs review (213). The response is 202 because the switch acknowledges later. A webhook then reports the result: \`transaction.voided\` (the sale is Voided), \`void.failed\` (the switch refused, and the sale stays blocked until the acquirer resolves it) or \`void.needsReview\` (the result is unknown, and the sale stays blocked until the acquirer resolves it). A link or intent whose sale is voided cannot be paid again. ${RIGHT}`,
        problems: { 409: [104, 212, 213], 500: [208], 503: [203] },
      },
    },
    onRequest: identify,
    ...idempotent,
    handler: async (request, reply) => {
      const started = await voids.start(await findSale(request, request.params.id), request.correlationId);
      reply.code(202).header('location', `/transactions/${started.id}`);
      return voidResponseOf(started);
    },
  });
}

function voidResponseOf(started: Transaction): VoidResponse {
  return { serviceReference: started.id, originalTransactionId: started.originalId!, ...returnedAmount(started) };
}

/** Built only from the committed row, so that a repeated request gets the same response. */
function refundResponseOf(transaction: Transaction): RefundResponse {
  return {
    ...switchResponseOf(transaction),
    serviceReference: transaction.id,
    originalTransactionId: transaction.originalId!,
    type: dispositionName(transaction.disposition as DispositionId),
    ...returnedAmount(transaction),
  };
}

/** A refund or void has the currency of its sale. */
function returnedAmount(transaction: Transaction): Pick<VoidResponse, 'amount' | 'amountMinor' | 'currency'> {
  const { amount, amountMinor, currency } = amountOf(transaction);
  if (amount === null) throw new Error('a refund or void has no amount');
  return { amount, amountMinor, currency };
}
