import { ENUMS, enums } from '#schemas/enums';
import { responseSchema, type Server } from '../server.ts';

/** The values change only with a release. */
const CACHE = 'public, max-age=3600';

/** Every status, disposition, type, state and code with its meaning (extension). */
export function registerEnumsRoute(server: Server): void {
  server.route({
    method: 'GET',
    url: '/enums',
    config: {
      facts: {
        summary: 'List enums',
        description: 'Lists every status, disposition, type, state and code with its meaning.',
        section: 'extension',
        takes: [],
      },
    },
    schema: { response: { 200: responseSchema(enums) } },
    handler: async (_request, reply) => {
      reply.header('cache-control', CACHE);
      return ENUMS;
    },
  });
}
