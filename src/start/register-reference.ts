import { type ApiDocument, apiDocument, type PublicUrls } from '../http/openapi/document.ts';
import type { LiveExamples } from '../http/openapi/live-examples.ts';
import { registerDocsRoutes } from '../http/routes/docs.ts';
import { registerEnumsRoute } from '../http/routes/enums.ts';
import { registerOpenApiRoute } from '../http/routes/openapi.ts';
import type { Server } from '../http/server.ts';
import type { Config } from './config.ts';

/** Creates the examples of the API reference from a demo's profile, for each request. */
export type ExamplesOf = (profilePath: string) => () => Promise<LiveExamples>;

/** The documentation for integrators: the API document, as data and as a page, and the closed lists. */
export function registerReference(server: Server, config: Config, examplesOf: ExamplesOf | undefined): void {
  const { DOCS_PROFILE: profile } = config;
  const document = describeOnce(server, config);
  registerEnumsRoute(server);
  registerOpenApiRoute(server, document);
  const examples = profile === undefined ? undefined : examplesOf?.(profile);
  registerDocsRoutes(server, { document, ...(examples && { examples }) });
}

/** Builds the document at the first request, because routes are registered until the server listens. */
function describeOnce(server: Server, { TAPWIRE_ENV, BASE_URL, AUTH_URL, APP_URL }: Config): () => ApiDocument {
  let document: ApiDocument | undefined;
  return () => {
    if (document) return document;
    const base = BASE_URL ?? server.listeningOrigin;
    const urls: PublicUrls = { base, auth: AUTH_URL ?? base, app: APP_URL ?? base };
    document = apiDocument(server.routeTable, [thisInstallation(TAPWIRE_ENV, base)], urls);
    return document;
  };
}

/** A server entry of the API document is valid in one environment, so the entry names it. */
function thisInstallation(env: string, url: string): object {
  const variable = { default: env, enum: ['dev', 'qa', 'prod'], description: 'Environment of this installation' };
  return { url, description: `This installation (${env})`, variables: { env: variable } };
}
