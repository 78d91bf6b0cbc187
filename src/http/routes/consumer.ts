import { linkAcknowledged, linkAcknowledgement, qrCodeDetails, qrCodePath } from '#schemas/consumer';
import type { AppTokens } from '../../auth/tokens/app-tokens.ts';
import { acknowledgeLink, openLink } from '../../payments/links/link-lifecycle.ts';
import { LinkState, linkStateName } from '../../payments/model/link.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import type { LinkStore } from '../../payments/ports/store-ports.ts';
import { identifyLink, qrCodeDetailsOf } from '../links-view.ts';
import type { RouteFacts } from '../route-table.ts';
import { responseSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

const BY_TOKEN = { section: 'extension', takes: ['intentToken'] } as const satisfies Partial<RouteFacts>;

/** What a payment app does with its link or intent besides the tap (extensions). */
export function registerConsumerRoutes(
  server: Server,
  appTokens: AppTokens,
  links: LinkStore,
  directory: Directory,
): void {
  const identify = identifyLink(appTokens);

  withZod(server).route({
    method: 'GET',
    url: '/consumer/qrCodeDetails/:id',
    config: {
      facts: {
        ...BY_TOKEN,
        summary: 'Get link or intent details',
        name: 'getLinkDetails',
        description:
          'Returns the payment details of a link or intent for the payment app. The qrCodeState becomes QRCodeScanned. Responds with 410 after the expiry.',
        problems: { 410: [118] },
      },
    },
    schema: { params: qrCodePath, response: { 200: responseSchema(qrCodeDetails) } },
    onRequest: identify,
    handler: async (request, reply) => {
      const opened = await openLink(links, request.intent!, request.params.id);
      reply.header('cache-control', 'no-store');
      const { acquirerId, merchantId } = opened.link;
      return qrCodeDetailsOf(opened, directory.merchant(acquirerId, merchantId));
    },
  });

  withZod(server).route({
    method: 'POST',
    url: '/consumer/acknowledge',
    config: {
      facts: {
        ...BY_TOKEN,
        summary: 'Report link progress',
        name: 'acknowledgeLink',
        description:
          'Reports that the payment app reached a state of the link or intent. The state never moves backwards: an earlier state is accepted without effect.',
        problems: { 404: [122], 409: [134], 410: [118] },
      },
    },
    schema: { body: linkAcknowledgement, response: { 200: responseSchema(linkAcknowledged) } },
    onRequest: identify,
    handler: async (request) => {
      const { qrCodeId, status, transactionId } = request.body;
      const asked = { id: qrCodeId, state: LinkState[status], transactionId };
      const state = await acknowledgeLink(links, request.intent!, asked);
      return { qrCodeId, qrCodeState: linkStateName(state) };
    },
  });
}
