import { ownAcquirer } from '#schemas/tokens';
import type { Authenticator } from '../../auth/authenticator.ts';
import { responseSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

/** 4.16: returns the caller's acquirer. */
export function registerAcquirerIdRoute(server: Server, authenticator: Authenticator): void {
  withZod(server).route({
    method: 'GET',
    url: '/acquirers/me',
    schema: { response: { 200: responseSchema(ownAcquirer) } },
    config: {
      facts: {
        summary: 'Get your own acquirer id',
        name: 'getOwnAcquirer',
        section: '4.16',
        takes: ['acquirerKey', 'integratorKey', 'merchantKey', 'merchantToken', 'loginToken'],
        description: 'Returns the id of the acquirer that the credential belongs to. Requires no particular scope.',
      },
    },
    onRequest: async (request) => {
      request.owner = await authenticator.holder(request.headers);
    },
    handler: async (request) => ({ id: request.owner!.acquirerId }),
  });
}
