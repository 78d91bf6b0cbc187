import { type ApiDocument, apiDocument, type PublicUrls } from '../openapi/document.ts';
import type { Server } from '../server.ts';

/**
 * `/openapi.json`: the description of every route of this server (OpenAPI 3.1). Made when it is first asked for, since routes
 * are registered until the server listens.
 *
 * @param urls where integrators find this installation; where it listens unless given
 */
export function registerOpenApiRoute(server: Server, env: string, urls: Partial<PublicUrls> = {}): void {
  let document: ApiDocument | undefined;
  server.route({
    method: 'GET',
    url: '/openapi.json',
    config: { facts: { summary: 'Get the API description', section: 'extension', takes: [] } },
    handler: async (_request, reply) => {
      document ??= describe(server, env, urls);
      return reply.send(document);
    },
  });
}

function describe(
  server: Server,
  env: string,
  { base = server.listeningOrigin, ...urls }: Partial<PublicUrls>,
): ApiDocument {
  const { auth = base, app = base } = urls;
  return apiDocument(server.routeTable, serversOf(env, base), { base, auth, app });
}

/** The address is that of one environment; which one it is stands beside it. */
function serversOf(env: string, url: string): object[] {
  const variable = { default: env, enum: ['dev', 'qa', 'prod'], description: 'Which environment this is' };
  return [{ url, description: `This installation (${env})`, variables: { env: variable } }];
}
