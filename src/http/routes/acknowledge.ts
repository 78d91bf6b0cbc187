import { mobileHeaders } from '#schemas/mobile-transaction';
import { acknowledgement } from '#schemas/refund';
import { transactionId } from '#schemas/transaction';
import { acknowledge } from '../../payments/taps/acknowledge.ts';
import { answerSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';
import type { TapRoutesOptions } from './taps.ts';

/**
 * The device that submitted a tap confirms that it has the outcome (extension). Only this route leads to
 * AcknowledgedByPhone.
 */
export function registerAcknowledgeRoutes(server: Server, { deps, identify }: TapRoutesOptions): void {
  withZod(server).route({
    method: 'POST',
    url: '/transactions/:id/acknowledge',
    config: {
      facts: {
        summary: 'Acknowledge an outcome',
        section: 'extension',
        takes: ['merchantToken', 'intentToken'],
        description:
          'Records that the device received the outcome. The status becomes AcknowledgedByPhone. Only the device that submitted the tap can acknowledge it, and only after an outcome.',
        problems: { 409: [104, 134], 429: [203] },
      },
    },
    schema: { params: transactionId, headers: mobileHeaders, response: { 200: answerSchema(acknowledgement) } },
    onRequest: identify,
    handler: async (request) => {
      const deviceInstallationId = request.headers['x-device-installation-id'];
      const { id } = await acknowledge(deps, request.submitter!, { id: request.params.id, deviceInstallationId });
      return { serviceReference: id, status: 'AcknowledgedByPhone' as const };
    },
  });
}
