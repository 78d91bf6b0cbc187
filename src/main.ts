import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiKeyVerifier } from './auth/api-key.ts';
import { Authenticator } from './auth/authenticator.ts';
import { OwnTokens } from './auth/own-tokens.ts';
import { createPinTokens } from './auth/pin-token.ts';
import { createMerchantTokenVerifier } from './auth/verify-merchant-token.ts';
import { createCardVault } from './card/card-vault.ts';
import { createKeyRing } from './card/create-key-ring.ts';
import type { KeyRing } from './card/key-ring.ts';
import { type LiveKeyRing, openLiveKeyRing } from './card/live-key-ring.ts';
import { createCardDataOpener } from './card/open-card-data.ts';
import { HandoverOpener } from './card/open-handover.ts';
import { readHandovers } from './card/read-handover.ts';
import { HandoverSealer, LIVE_KEYS_TRUSTED_MS } from './card/seal-handover.ts';
import type { Config } from './config.ts';
import { StartError } from './errors.ts';
import { createIdempotency } from './http/idempotency.ts';
import { registerAcknowledgeRoutes } from './http/routes/acknowledge.ts';
import { registerProcessorRoutes } from './http/routes/admin-processors.ts';
import { registerCallbackRoutes } from './http/routes/callbacks.ts';
import { registerHealthRoutes } from './http/routes/health.ts';
import { registerPinRoute } from './http/routes/pin.ts';
import { registerRefundRoutes } from './http/routes/refunds.ts';
import { registerTapRoutes } from './http/routes/taps.ts';
import { registerTransactionRoutes } from './http/routes/transactions.ts';
import { registerWebhookEventRoutes } from './http/routes/webhook-events.ts';
import { registerWellKnownRoutes } from './http/routes/well-known.ts';
import { createServer, type Server } from './http/server.ts';
import { JobTable } from './jobs/job-table.ts';
import { Pipeline } from './jobs/pipeline.ts';
import { armFetcher, armWorld } from './ops/failpoints.ts';
import { Health } from './ops/health.ts';
import type { Log } from './ops/log.ts';
import { createRequestLog } from './ops/request-log.ts';
import { loadProcessors } from './processor-kit/load-processors.ts';
import type { MacKeys } from './processor-kit/mac-rule.ts';
import { postgresApiKeys } from './store/api-keys.ts';
import { BusinessDates } from './store/business-dates.ts';
import { PostgresDirectory } from './store/directory.ts';
import { startEmbeddedPostgres } from './store/embedded-postgres.ts';
import { postgresHandoverKeys } from './store/handover-keys.ts';
import { IdempotencyKeys } from './store/idempotency.ts';
import { migrate } from './store/migrate.ts';
import { type Database, openDatabase } from './store/open-database.ts';
import { purge, type Retention } from './store/purge.ts';
import { PostgresRefundStore } from './store/refund-store.ts';
import { StanBlocks } from './store/stan-blocks.ts';
import { PostgresTransactionStore } from './store/transaction-store.ts';
import { LocalWakeups, SharedWakeups } from './store/wakeups.ts';
import { PostgresWebhookDeliveries } from './store/webhook-deliveries.ts';
import { PostgresWebhookEndpoints } from './store/webhook-endpoints.ts';
import { PostgresWebhookEvents } from './store/webhook-events.ts';
import { AcquirerSwitches } from './switches/acquirer-switches.ts';
import { openHsm } from './switches/open-hsm.ts';
import { StrayResponses } from './switches/stray-responses.ts';
import { refusePinTerminals } from './switches/translate-pin.ts';
import type { ProcessorTypes } from './transactions/check-routing.ts';
import { settleStrays } from './transactions/late-response.ts';
import { OriginalConnections } from './transactions/original-connections.ts';
import { ANSWER_SLACK_SECONDS, LONGEST_DEADLINE_SECONDS } from './transactions/time-limits.ts';
import type { World } from './transactions/world.ts';
import { CallbackRegistry } from './webhooks/callback-registry.ts';
import type { UrlPolicy } from './webhooks/callback-url.ts';
import { GuardedFetch } from './webhooks/guarded-fetch.ts';
import { Lanes } from './webhooks/lanes.ts';
import { providerIdOf } from './webhooks/provider-id.ts';
import { createSecretVault } from './webhooks/secret-vault.ts';
import { webhookBody } from './webhooks/webhook-body.ts';
import { WebhookDeliverer } from './webhooks/webhook-deliverer.ts';

/** How long a stop waits for taps in flight: the longest deadline of a switch and the slack to answer. */
const DRAIN_MS = (LONGEST_DEADLINE_SECONDS + ANSWER_SLACK_SECONDS) * 1_000;

export interface Gateway {
  /** Where it listens, `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Answers the taps in flight, takes no new ones, closes everything in the reverse order of its start. */
  stop(): Promise<void>;
}

/** On level error: somebody is called. */
const UNACKNOWLEDGED = 'the time for a reversal is over and no switch has acknowledged it: a person must look';
const ANOTHER_DATABASE = 'the database is another than before, a backup or a standby: STANs jump ahead';

/** A database that is up and migrated, embedded or not. */
export interface PreparedDatabase {
  readonly url: string;
  readonly database: Database;
  stop(): Promise<void>;
}

/** @throws StartError NO_DATABASE, DATABASE_TOO_OLD */
export async function prepareDatabase(config: Config): Promise<PreparedDatabase> {
  const embedded = config.DATABASE_URL
    ? undefined
    : await startEmbeddedPostgres({ directory: join(config.TAPWIRE_DATA, 'postgres') });
  const url = config.DATABASE_URL ?? embedded!.url;
  try {
    const database = await openDatabase(url, { maxConnections: config.DATABASE_CONNECTIONS });
    await migrate(database);
    return {
      url,
      database,
      stop: async () => {
        await database.end();
        await embedded?.stop();
      },
    };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

export function keyRingPath({ TAPWIRE_KEYS_FILE, TAPWIRE_DATA }: Config): string {
  return TAPWIRE_KEYS_FILE ?? join(TAPWIRE_DATA, 'keys.json');
}

/** The installation's keys; made on the first start in dev. Elsewhere `tapwire init` makes them, and nothing else. */
export async function openKeyRing(config: Config, onError: (error: unknown) => void = () => {}): Promise<LiveKeyRing> {
  const path = keyRingPath(config);
  if (!existsSync(path) && config.TAPWIRE_ENV === 'dev') {
    mkdirSync(config.TAPWIRE_DATA, { recursive: true });
    await createKeyRing(path);
  }
  return openLiveKeyRing(path, onError);
}

/**
 * The composition root: everything is constructed here, in the order in which it depends on one another, and stopped in
 * the reverse order.
 *
 * @throws StartError when something that it needs is missing or wrong, ProcessorError naming a plug-in that is
 */
export async function startGateway(config: Config, prepared: PreparedDatabase, log: Log): Promise<Gateway> {
  const closers: (() => unknown)[] = [];
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
  closers: (() => unknown)[],
): Promise<Gateway> {
  const role = config.TAPWIRE_ROLE;
  const report = (what: string) => (error: unknown) => log.error({ error }, what);
  const types = await loadProcessors({ external: config.PROCESSORS });
  const { keys, jobs, directory, store, refunds } = await openStores(config, database, report, closers);

  let pipeline: Pipeline | undefined;
  const onAuthorize = role === 'worker' ? () => pipeline?.wake('authorize') : undefined;
  const onError = report('the wake-up channel reports a fault');
  const wakeups = role === 'all' ? new LocalWakeups() : new SharedWakeups({ database, url, onAuthorize, onError });
  if (wakeups instanceof SharedWakeups) closers.push(() => wakeups.close());

  const clock = { nowMs: Date.now, monotonicMs: () => performance.now() };
  const handoverKeys = postgresHandoverKeys(database);
  const strays = new StrayResponses(report('responses that came late could not be recorded'));
  closers.push(() => strays.close());
  const parts = { config, types, directory, database, clock, strays, log, closers };
  const switches = role === 'api' ? undefined : await openSwitches(parts);
  const path: World['path'] = switches
    ? { kind: 'direct', switches }
    : { kind: 'handover', handover: new HandoverSealer(handoverKeys) };
  const plain: World = {
    clock,
    newId: randomUUID,
    directory,
    cardData: createCardDataOpener({ keys, allowBare: config.ALLOW_BARE_CARD_DATA }),
    vault: createCardVault(keys),
    store,
    refunds,
    wakeups,
    originals: new OriginalConnections(),
    pinTokens: createPinTokens(new OwnTokens({ keys, name: config.TAPWIRE_AUDIENCE, nowMs: clock.nowMs })),
    pinSeconds: config.PIN_SECONDS,
    alarms: { needsReview: ({ acquirerId, id }) => log.error({ acquirerId, id }, UNACKNOWLEDGED) },
    reverseAhead: (asked, jobId) => pipeline?.reverseAhead(asked, jobId),
    path,
  };
  const world = armWorld(plain, config.TAPWIRE_FAILPOINTS);
  const fetcher = new GuardedFetch({ policy: callbackPolicy(config) });
  closers.push(() => fetcher.close());
  if (switches) {
    strays.open((responses) => settleStrays(world, responses));
    closers.push(() => switches.close(clock.monotonicMs() + DRAIN_MS));
    const opener =
      role === 'worker'
        ? await openHandovers(handoverKeys, report('a handover key could not be published'))
        : undefined;
    if (opener) closers.push(() => opener.stop());
    const deliverer = createDeliverer({ config, database, jobs, world, keys, fetcher });
    pipeline = new Pipeline(jobs, world, {
      onError: (error, queue) => log.error({ error, queue }, 'a job failed and will be tried again'),
      openHandover: opener && readHandovers(opener),
      deliverWebhook: (payload, jobId) => deliverer.deliver(payload, jobId),
      purge: () => purge(database, retentionOf(config)),
    });
    await jobs.keepOne({ queue: 'purge', data: {} });
    closers.push(() => pipeline!.stop());
    closers.push(() => deliverer.stop());
    if (opener) closers.push(() => withdraw(opener));
  }

  const health = new Health(database, switches);
  closers.push(() => health.stop());
  const front = { trustedProxies: config.TRUSTED_PROXIES, tls: tlsFiles(config) };
  const server = createServer({ ...front, log: createRequestLog(log) });
  registerHealthRoutes(server, health);
  if (role !== 'worker') {
    registerRoutes(server, config, { world, store, directory, types, keys, database, jobs, fetcher, closers, report });
  }
  const listening = await listen(server, config);
  closers.push(() => server.close());
  closers.push(() => health.drain());
  log.info({ role, url: listening, env: config.TAPWIRE_ENV }, 'Tapwire is up');
  return { url: listening, stop: () => closeAll(closers) };
}

async function openStores(
  config: Config,
  database: Database,
  report: (what: string) => (error: unknown) => void,
  closers: (() => unknown)[],
) {
  const keys = await openKeyRing(config, report('the key file cannot be used; its last keys stay'));
  closers.push(() => keys.close());
  const jobs = await JobTable.open(database, report('the job table reports a fault'));
  closers.push(() => jobs.close());
  const directory = await PostgresDirectory.open(database);
  closers.push(() => directory.close());
  const store = new PostgresTransactionStore(database, jobs, report('an answer could not be recorded'));
  closers.push(() => store.close());
  const refunds = new PostgresRefundStore(database, jobs);
  closers.push(() => refunds.close());
  return { keys, jobs, directory, store, refunds };
}

interface SwitchParts {
  readonly config: Config;
  readonly types: ProcessorTypes;
  readonly directory: PostgresDirectory;
  readonly database: Database;
  readonly clock: World['clock'];
  readonly strays: StrayResponses;
  readonly log: Log;
  readonly closers: (() => unknown)[];
}

async function openSwitches({ config, directory, database, closers, ...shared }: SwitchParts) {
  const { log, clock } = shared;
  const { TAPWIRE_ENV: environment, HSM_KEYS_FILE: keysFile, HSM_MODULE: module } = config;
  const hsm = await openHsm({ environment, keysFile, module });
  if (environment === 'prod' && !hsm) refusePinTerminals(directory.pinTerminals());
  const macKeys: MacKeys | undefined = hsm && ((keyId, method) => hsm.keyMac(keyId, method));
  const pins = hsm && { hsm, reader: { keyId: config.READER_PIN_KEY, format: config.READER_PIN_FORMAT } };
  const stans = await StanBlocks.open(database, (scopes) => log.warn({ scopes }, ANOTHER_DATABASE));
  const dates = await BusinessDates.open(database, clock.nowMs, (error) =>
    log.error({ error }, 'a business date could not be recorded'),
  );
  closers.push(() => dates.close());
  return AcquirerSwitches.open({ ...shared, stored: () => directory.processors(), stans, dates, macKeys, pins });
}

async function openHandovers(
  keys: ReturnType<typeof postgresHandoverKeys>,
  onError: (error: unknown) => void,
): Promise<HandoverOpener> {
  const longestWaitMs = (LONGEST_DEADLINE_SECONDS + ANSWER_SLACK_SECONDS) * 1_000;
  const opener = new HandoverOpener({ keys, workerId: randomUUID(), longestWaitMs, onError });
  await opener.start();
  return opener;
}

/** Until no api process can be sealing taps for this worker any more: those that are on their way still find it at work. */
async function withdraw(opener: HandoverOpener): Promise<void> {
  await opener.withdraw();
  await sleep(LIVE_KEYS_TRUSTED_MS);
}

interface DeliveryParts {
  readonly config: Config;
  readonly database: Database;
  readonly jobs: JobTable;
  readonly world: World;
  readonly keys: KeyRing;
  readonly fetcher: GuardedFetch;
}

function createDeliverer({ config, database, jobs, world, keys, fetcher }: DeliveryParts): WebhookDeliverer {
  const { clock } = world;
  const store = new PostgresWebhookDeliveries(database, jobs, (transaction, outcome) =>
    webhookBody(transaction, outcome, providerIdOf(world, transaction)),
  );
  const lanes = new Lanes(clock.monotonicMs);
  const vault = createSecretVault(keys);
  const armed = armFetcher(fetcher, config.TAPWIRE_FAILPOINTS);
  return new WebhookDeliverer({ store, fetcher: armed, vault, lanes, clock, random: Math.random });
}

/** Receivers on the developer's own machine are for dev alone. */
export function callbackPolicy({ TAPWIRE_ENV }: Config): UrlPolicy {
  return { allowHttp: TAPWIRE_ENV === 'dev', allowLoopback: TAPWIRE_ENV === 'dev' };
}

function retentionOf({ RETENTION_CARD_DAYS, RETENTION_AUDIT_DAYS, RETENTION_WEBHOOK_DAYS }: Config): Retention {
  return { cardDays: RETENTION_CARD_DAYS, auditDays: RETENTION_AUDIT_DAYS, webhookDays: RETENTION_WEBHOOK_DAYS };
}

interface FrontParts {
  readonly world: World;
  readonly store: PostgresTransactionStore;
  readonly directory: PostgresDirectory;
  readonly types: ProcessorTypes;
  readonly keys: KeyRing;
  readonly database: Database;
  readonly jobs: JobTable;
  readonly fetcher: GuardedFetch;
  readonly closers: (() => unknown)[];
  readonly report: (what: string) => (error: unknown) => void;
}

function registerRoutes(
  server: Server,
  config: Config,
  { world, store, directory, types, keys, database, jobs, fetcher, closers, report }: FrontParts,
): void {
  const tokens = createMerchantTokenVerifier({
    keys: directory,
    merchants: directory,
    audience: config.TAPWIRE_AUDIENCE,
  });
  const apiKeys = createApiKeyVerifier({
    keys: postgresApiKeys(database, report('the use of an api key could not be recorded')),
    mode: config.TAPWIRE_ENV === 'prod' ? 'live' : 'test',
  });
  const authenticator = new Authenticator(tokens, apiKeys);
  registerTapRoutes(server, { world, tokens });
  registerPinRoute(server, { world, tokens });
  registerAcknowledgeRoutes(server, { world, tokens });
  const idempotencyKeys = new IdempotencyKeys(database, keys);
  closers.push(() => idempotencyKeys.close());
  const idempotent = createIdempotency(authenticator, idempotencyKeys);
  registerRefundRoutes(server, { world, authenticator, transactions: store, idempotent });
  registerTransactionRoutes(server, { authenticator, transactions: store, directory, vault: world.vault });
  const callbacks = new CallbackRegistry({
    endpoints: new PostgresWebhookEndpoints(database),
    vault: createSecretVault(keys),
    policy: callbackPolicy(config),
    fetcher,
    onChange: () => directory.refresh(),
  });
  registerCallbackRoutes(server, { authenticator, idempotent, callbacks });
  registerWebhookEventRoutes(server, { authenticator, events: new PostgresWebhookEvents(database, jobs) });
  registerProcessorRoutes(server, { authenticator, idempotent, database, types });
  registerWellKnownRoutes(server, keys);
}

function tlsFiles({ TLS_CERT_FILE, TLS_KEY_FILE }: Config): { certFile: string; keyFile: string } | undefined {
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

/** In the reverse order; a fault in one does not keep the others open. */
async function closeAll(closers: (() => unknown)[]): Promise<void> {
  for (const close of closers.splice(0).reverse()) await Promise.try(close).catch(() => {});
}
