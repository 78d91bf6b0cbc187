import { consoleRefund } from '#schemas/console';
import { recordWhenFlushed } from '../../http/answer-phone.ts';
import type { Server } from '../../http/server.ts';
import { withZod } from '../../http/with-zod.ts';
import { type DispositionId, dispositionName } from '../../payments/model/disposition.ts';
import { type ConsoleParts, consoleGuards } from './console-guard.ts';

/** A refund has a route of its own, because its response has the time and the limits of a request that waits for a switch. */
export function registerConsoleRefunds(server: Server, parts: ConsoleParts): void {
  const facts = {
    summary: 'Refund a sale in the console',
    section: 'extension',
    takes: [],
    isAsset: true,
    waitsForSwitch: true,
  } as const;
  withZod(server).route({
    method: 'POST',
    url: '/ops/refunds',
    config: { facts },
    schema: { body: consoleRefund },
    onRequest: consoleGuards(parts).acts,
    handler: async (request, reply) => {
      const refunded = await parts.acts.refundSale(request.operator!, request.body, request.correlationId);
      recordWhenFlushed(parts.deps, refunded, reply);
      const { id, disposition } = refunded;
      return reply
        .header('cache-control', 'no-store')
        .send({ id, disposition: dispositionName(disposition as DispositionId) });
    },
  });
}
