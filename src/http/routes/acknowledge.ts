import { mobileHeaders } from '#schemas/mobile-transaction';
import { acknowledgement } from '#schemas/refund';
import { transactionId } from '#schemas/transaction';
import { bearerToken } from '../../auth/bearer.ts';
import type { TapTokens } from '../../auth/tokens/tap-tokens.ts';
import { acknowledge } from '../../transactions/afterwards/acknowledge.ts';
import type { World } from '../../transactions/world.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

export interface AcknowledgeRoutesOptions {
  readonly world: World;
  readonly tokens: TapTokens;
}

/** The device that submitted a tap says that it has the outcome (extension): nothing else reaches AcknowledgedByPhone. */
export function registerAcknowledgeRoutes(server: Server, { world, tokens }: AcknowledgeRoutesOptions): void {
  withZod(server).route({
    method: 'POST',
    url: '/transactions/:id/acknowledge',
    config: {
      facts: {
        summary: 'Acknowledge an outcome',
        section: 'extension',
        takes: ['merchantToken', 'intentToken'],
        description: 'The device that submitted the tap has its outcome: the status becomes AcknowledgedByPhone.',
        problems: { 409: [104, 134] },
      },
    },
    schema: { params: transactionId, headers: mobileHeaders, response: { 200: answerSchema(acknowledgement) } },
    onRequest: async (request) => {
      request.submitter = await tokens.verify(bearerToken(request.headers.authorization));
    },
    handler: async (request) => {
      const deviceInstallationId = request.headers['x-device-installation-id'];
      const { id } = await acknowledge(world, request.submitter!, { id: request.params.id, deviceInstallationId });
      return { serviceReference: id, status: 'AcknowledgedByPhone' as const };
    },
  });
}
