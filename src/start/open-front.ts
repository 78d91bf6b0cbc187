import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { BoundSocket } from 'node:net';
import { StartError } from '../basics/errors.ts';
import { requirePrivateFile } from '../basics/files/change-file.ts';
import type { TapLoad } from '../basics/limits/concurrency-limit.ts';
import { admitTaps } from '../http/admit-taps.ts';
import { bindSockets, followTlsFiles, isHttps, listen, openSockets, type TlsFiles } from '../http/listen.ts';
import { type ApiDocument, apiDocument, type PublicUrls } from '../http/openapi/document.ts';
import type { LiveExamples } from '../http/openapi/live-examples.ts';
import { registerDocsRoutes, registerEnumsRoute, registerOpenApiRoute } from '../http/routes/docs.ts';
import { registerHealthRoutes, registerMetricsRoute } from '../http/routes/health.ts';
import { createServer, type Server } from '../http/server.ts';
import { traceRequests } from '../http/trace-requests.ts';
import { createRequestLog } from '../observe/request-log.ts';
import type { Tracing } from '../observe/tracing/tracing.ts';
import type { Config } from './config.ts';
import { openPeople, registerConsole } from './open-console.ts';
import type { Opening } from './opening.ts';
import type { Shown } from './processes/siblings.ts';
import { type RouteParts, registerRoutes } from './register-routes.ts';

/** Creates the examples of the API reference from a demo's profile, for each request. */
export type ExamplesOf = (profilePath: string) => () => Promise<LiveExamples>;

/** The documentation for integrators: the API document, as data and as a page, and the closed lists. */
function registerReference(server: Server, config: Config, examplesOf: ExamplesOf | undefined): void {
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

/** The HTTP server with the routes of the process's role. */
export function openFront(
  parts: RouteParts,
  {
    tracing,
    examplesOf,
    shown,
    tapLoad,
  }: {
    readonly tracing: Tracing | undefined;
    readonly examplesOf: ExamplesOf | undefined;
    readonly shown: Shown;
    readonly tapLoad: TapLoad;
  },
): Server {
  const { config, log, deadlines, deps, metrics } = parts;
  const isDev = config.TAPWIRE_ENV === 'dev';
  const responseTimes = { switchWaitMs: () => deadlines.requestMs };
  const front = { trustedProxies: config.TRUSTED_PROXIES, tls: tlsFiles(config), requiresHttps: !isDev, responseTimes };
  const requestLog = metrics.watchRequests(createRequestLog(log));
  const server = createServer({ ...front, log: requestLog });
  const { monotonicMs } = deps.clock;
  admitTaps(server, { load: tapLoad, log: requestLog, requiresHttps: front.requiresHttps, monotonicMs });
  if (tracing) traceRequests(server, tracing);
  const access = { token: config.METRICS_TOKEN, isOpen: isDev };
  registerHealthRoutes(server, { checks: shown.checks, ...access });
  registerMetricsRoute(server, { metrics: shown.metrics, ...access });
  if (config.TAPWIRE_ROLE !== 'worker') {
    const people = openPeople(parts);
    registerRoutes(server, parts, people);
    registerConsole(server, parts, people);
    registerReference(server, config, examplesOf);
  }
  return server;
}

/**
 * Loads renewed certificate files without a restart.
 *
 * @returns when the certificate in use expires; undefined without HTTPS
 */
export function followCertificate(server: Server, { config, log, closers }: Opening): () => number | undefined {
  const files = tlsFiles(config);
  if (!files || !isHttps(server.server)) return () => undefined;
  const read = () => new X509Certificate(readFileSync(files.certFile)).validToDate.getTime();
  let expiresAtMs = read();
  const onReplaced = () => {
    expiresAtMs = read();
    log.info('new TLS files in use');
  };
  const onError = (error: unknown) => log.error({ error }, 'new TLS files are unusable, previous files remain in use');
  closers.push(followTlsFiles(server.server, files, { onReplaced, onError }));
  return () => expiresAtMs;
}

/** @throws StartError in qa and prod, if other users may read the private key */
export function tlsFiles({ TAPWIRE_ENV, TLS_CERT_FILE, TLS_KEY_FILE }: Config): TlsFiles | undefined {
  if (TLS_KEY_FILE && TAPWIRE_ENV !== 'dev') requirePrivateFile('TLS_KEY_FILE', TLS_KEY_FILE);
  return TLS_CERT_FILE && TLS_KEY_FILE ? { certFile: TLS_CERT_FILE, keyFile: TLS_KEY_FILE } : undefined;
}

/**
 * @param shared descriptors of the sockets that the primary of several processes has bound; undefined for a process alone
 * @throws StartError PORT_IN_USE if another program listens there
 */
export async function listenAt(
  server: Server,
  { HOST: host, PORT: port }: Config,
  shared?: readonly number[],
): Promise<string> {
  try {
    return await listen(server, { host, port }, shared ? openSockets(shared) : bindSockets({ host, port }));
  } catch (cause) {
    throw portInUse(cause, port);
  }
}

/** The sockets of several processes, which their primary binds. @throws StartError PORT_IN_USE */
export function bindShared({ HOST: host, PORT: port }: Config): readonly BoundSocket[] {
  try {
    return bindSockets({ host, port });
  } catch (cause) {
    throw portInUse(cause, port);
  }
}

function portInUse(cause: unknown, port: number): unknown {
  if ((cause as { code?: string }).code !== 'EADDRINUSE') return cause;
  return new StartError('PORT_IN_USE', `Port ${port} is in use. Set PORT to another port.`, { cause });
}
