import type { ApiDocument } from '../openapi/document.ts';
import type { Server } from '../server.ts';

/** `/openapi.json`: the description of every route of this server (OpenAPI 3.1). */
export function registerOpenApiRoute(server: Server, document: () => ApiDocument): void {
  server.route({
    method: 'GET',
    url: '/openapi.json',
    config: {
      facts: {
        summary: 'Get the API description',
        description: 'Returns this document (OpenAPI 3.1).',
        section: 'extension',
        takes: [],
      },
    },
    handler: async (_request, reply) => reply.send(document()),
  });
}
