import { randomUUID } from 'node:crypto';
import { OwnTokens } from './auth/tokens/own-tokens.ts';
import { createPinTokens } from './auth/tokens/pin-token.ts';
import { createCardVault } from './card/card-vault.ts';
import { createCardDataOpener } from './card/open-card-data.ts';
import { HandoverSealer } from './card/seal-handover.ts';
import type { Config } from './config.ts';
import { StartError } from './errors.ts';
import { type Closers, closeAll } from './gateway/closers.ts';
import { registerConsole, reportFigures } from './gateway/open-console.ts';
import { openMessages } from './gateway/open-messages.ts';
import { openMetrics } from './gateway/open-metrics.ts';
import { openPushes } from './gateway/open-pushes.ts';
import { openStores, type Report } from './gateway/open-stores.ts';
import { openSwitches } from './gateway/open-switches.ts';
import { openTraces } from './gateway/open-traces.ts';
import type { PreparedDatabase } from './gateway/prepare-database.ts';
import { registerReference } from './gateway/register-reference.ts';
import { type RouteParts, registerRoutes } from './gateway/register-routes.ts';
import { startJobs } from './gateway/start-jobs.ts';
import { tellMinutes, tellStart } from './gateway/tell-log.ts';
import type { RouteTable } from './http/route-table.ts';
import { registerHealthRoutes } from './http/routes/health.ts';
import { registerMetricsRoute } from './http/routes/metrics.ts';
import { createServer, type Server } from './http/server.ts';
import { followTlsFiles, isHttps, type TlsFiles } from './http/tls-files.ts';
import { traceRequests } from './http/trace-requests.ts';
import type { Pipeline } from './jobs/pipeline.ts';
import { armWorld } from './ops/failpoints.ts';
import { Health } from './ops/health.ts';
import { createStrayLog, logJourneys } from './ops/journey-log.ts';
import type { Log } from './ops/log.ts';
import { countOutcomes } from './ops/metrics/count-outcomes.ts';
import type { Metrics } from './ops/metrics/metrics.ts';
import { createRequestLog } from './ops/request-log.ts';
import { traceJobs } from './ops/tracing/trace-jobs.ts';
import { traceWorld } from './ops/tracing/trace-world.ts';
import type { Tracing } from './ops/tracing/tracing.ts';
import { loadProcessors } from './processor-kit/load-processors.ts';
import { LocalWakeups, SharedWakeups } from './store/postgres/wakeups.ts';
import { postgresHandoverKeys } from './store/switches/handover-keys.ts';
import { StrayResponses } from './switches/stray-responses.ts';
import { settleStrays } from './transactions/reversal/late-response.ts';
import { OriginalConnections } from './transactions/reversal/original-connections.ts';
import { ANSWER_SLACK_SECONDS, LONGEST_DEADLINE_SECONDS } from './transactions/time-limits.ts';
import type { World } from './transactions/world.ts';
import { callbackPolicy } from './webhooks/callback-url.ts';
import { GuardedFetch } from './webhooks/guarded-fetch.ts';

/** How long a stop waits for taps in flight: the longest deadline of a switch and the slack to answer. */
const DRAIN_MS = (LONGEST_DEADLINE_SECONDS + ANSWER_SLACK_SECONDS) * 1_000;

/** On level error: somebody is called. */
const UNACKNOWLEDGED = 'no switch has acknowledged a reversal or a completion in all its time: a person must look';

export interface Gateway {
  /** Where it listens, `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Every route that it serves. */
  readonly routes: RouteTable;
  /** Answers the taps in flight, takes no new ones, closes everything in the reverse order of its start. */
  stop(): Promise<void>;
}

/**
 * The composition root: everything is constructed here and in gateway/, in the order in which it depends on one another,
 * and stopped in the reverse order.
 *
 * @throws StartError when something that it needs is missing or wrong, ProcessorError naming a plug-in that is
 */
export async function startGateway(config: Config, prepared: PreparedDatabase, log: Log): Promise<Gateway> {
  const closers: Closers = [];
  try {
    return await compose(config, prepared, log, closers);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function compose(
  config: Config,
  { database, url }: PreparedDatabase,
  log: Log,
  closers: Closers,
): Promise<Gateway> {
  const role = config.TAPWIRE_ROLE;
  const report: Report = (what) => (error) => log.error({ error }, what);
  const tracing = await openTraces(config, log, closers);
  const types = await loadProcessors({ external: config.PROCESSORS });
  const stores = await openStores(config, database, report, closers);
  const { keys, directory } = stores;

  let pipeline: Pipeline | undefined;
  const onAuthorize = role === 'worker' ? () => pipeline?.wake('authorize') : undefined;
  const onError = report('the wake-up channel reports a fault');
  const wakeups = role === 'all' ? new LocalWakeups() : new SharedWakeups({ database, url, onAuthorize, onError });
  if (wakeups instanceof SharedWakeups) closers.push(() => wakeups.close());

  const clock = { nowMs: Date.now, monotonicMs: () => performance.now() };
  const handoverKeys = postgresHandoverKeys(database);
  const strays = new StrayResponses(report('responses that came late could not be recorded'), createStrayLog(log));
  closers.push(() => strays.close());
  const messages = openMessages(config, database, report, closers);
  const parts = { config, types, directory, database, clock, strays, messages, log, closers };
  const switches = role === 'api' ? undefined : await openSwitches(parts);
  const ownTokens = new OwnTokens({ keys, name: config.TAPWIRE_AUDIENCE, nowMs: clock.nowMs });
  const plain: World = {
    clock,
    newId: randomUUID,
    directory,
    cardData: createCardDataOpener({ keys, allowBare: config.ALLOW_BARE_CARD_DATA }),
    vault: createCardVault(keys),
    store: stores.store,
    refunds: stores.refunds,
    completions: stores.completions,
    links: stores.links,
    wakeups,
    originals: new OriginalConnections(),
    pinTokens: createPinTokens(ownTokens),
    pinSeconds: config.PIN_SECONDS,
    alarms: { needsReview: ({ acquirerId, id }) => log.error({ acquirerId, id }, UNACKNOWLEDGED) },
    reverseAhead: (asked, jobId) => pipeline?.reverseAhead(asked, jobId),
    path: switches ? { kind: 'direct', switches } : { kind: 'handover', handover: new HandoverSealer(handoverKeys) },
  };
  const metrics = openMetrics(database, messages, switches, closers);
  const world = armWorld(
    countOutcomes(logJourneys(traceWorld(plain, tracing), log), metrics),
    config.TAPWIRE_FAILPOINTS,
  );
  const fetcher = new GuardedFetch({ policy: callbackPolicy(config.TAPWIRE_ENV) });
  closers.push(() => fetcher.close());
  const common = { config, database, stores, ownTokens, world, fetcher, log, report, closers };
  const pushes = await openPushes({ ...common, origin: () => server.listeningOrigin });
  if (switches) {
    strays.open((responses) => settleStrays(world, responses));
    closers.push(() => switches.close(clock.monotonicMs() + DRAIN_MS));
    pipeline = await startJobs({ ...common, pushes, handoverKeys, around: tracing && traceJobs(tracing) });
  }

  const health = new Health(database, switches);
  closers.push(() => health.stop());
  const counted = { metrics, database, health, switches, messages };
  reportFigures(counted, config, closers);
  tellMinutes(log, counted, config, closers);
  const server = openFront({ ...common, pushes, types }, { log, health, metrics, tracing });
  followCertificate(server, config, log, closers);
  const listening = await listen(server, config);
  closers.push(() => server.close());
  closers.push(() => health.drain());
  const known = { processors: directory.processors().length, unusable: switches?.faults.size ?? 0 };
  tellStart(log, { config, url: listening, databaseUrl: url, ...known });
  return { url: listening, routes: server.routeTable, stop: () => closeAll(closers) };
}

interface FrontParts {
  readonly log: Log;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly tracing: Tracing | undefined;
}

/** The HTTP front, with the routes of the process's role. */
function openFront(parts: RouteParts, { log, health, metrics, tracing }: FrontParts): Server {
  const { config } = parts;
  const front = { trustedProxies: config.TRUSTED_PROXIES, tls: tlsFiles(config) };
  const server = createServer({ ...front, log: metrics.watchRequests(createRequestLog(log)) });
  if (tracing) traceRequests(server, tracing);
  registerHealthRoutes(server, health);
  registerMetricsRoute(server, { metrics, token: config.METRICS_TOKEN, isOpen: config.TAPWIRE_ENV === 'dev' });
  if (config.TAPWIRE_ROLE !== 'worker') {
    registerRoutes(server, parts);
    registerConsole(server, parts);
    registerReference(server, config);
  }
  return server;
}

/** A renewed certificate is served without a restart. */
function followCertificate(server: Server, config: Config, log: Log, closers: Closers): void {
  const files = tlsFiles(config);
  if (!files || !isHttps(server.server)) return;
  const onReplaced = () => log.info('new TLS files are served from now on');
  const onError = (error: unknown) => log.error({ error }, 'the new TLS files cannot be used; the last ones stay');
  closers.push(followTlsFiles(server.server, files, { onReplaced, onError }));
}

function tlsFiles({ TLS_CERT_FILE, TLS_KEY_FILE }: Config): TlsFiles | undefined {
  return TLS_CERT_FILE && TLS_KEY_FILE ? { certFile: TLS_CERT_FILE, keyFile: TLS_KEY_FILE } : undefined;
}

async function listen(server: Server, { HOST, PORT }: Config): Promise<string> {
  try {
    return await server.listen({ host: HOST, port: PORT });
  } catch (cause) {
    if ((cause as { code?: string }).code !== 'EADDRINUSE') throw cause;
    throw new StartError('PORT_IN_USE', `Port ${PORT} is taken: set PORT to another one.`, { cause });
  }
}
