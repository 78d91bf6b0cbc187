import type { ApiDocument } from '../openapi/document.ts';
import type { Server } from '../server.ts';
import { type ServedFile, sendFile, servedFile } from '../static-files.ts';

/** `/openapi.json`: the description of every route of this server (OpenAPI 3.1). */
export function registerOpenApiRoute(server: Server, document: () => ApiDocument): void {
  let file: ServedFile | undefined;
  server.route({
    method: 'GET',
    url: '/openapi.json',
    config: {
      facts: {
        summary: 'Get the API description',
        description: 'Returns this document (OpenAPI 3.1).',
        section: 'extension',
        takes: [],
        hasEntityTag: true,
      },
    },
    handler: async (request, reply) => {
      file ??= servedFile(JSON.stringify(document()), 'application/json; charset=utf-8');
      return sendFile(request, reply, file);
    },
  });
}
