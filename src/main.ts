import { OwnTokens } from './auth/tokens/gateway-tokens.ts';
import { TapLoad } from './basics/limits/concurrency-limit.ts';
import { HandoverSealer } from './card/handover.ts';
import type { RefusedCardData } from './card/open-card-data.ts';
import type { OpenedHsm } from './hsm-devices/open-hsm.ts';
import type { RouteTable } from './http/route-table.ts';
import { PipelineHandle } from './jobs/pipeline.ts';
import { loadProcessors } from './kits/processor-kit/load-processors.ts';
import { loadReaders, type ReaderFormats } from './kits/reader-kit/load-readers.ts';
import { Health } from './observe/health.ts';
import { FaultLines, type Log } from './observe/log.ts';
import { countOutcomes } from './observe/metrics/metrics.ts';
import { registerCertificates } from './observe/metrics/switch-metrics.ts';
import { traceJobs } from './observe/tracing/tracing.ts';
import {
  createRefusedCardDataLog,
  createUnmatchedLog,
  logTransactions,
  ProcessObserver,
} from './observe/transaction-observer.ts';
import { callbackPolicy, GuardedFetch } from './outbound/guarded-fetch.ts';
import { RESPONSE_SLACK_SECONDS } from './payments/model/time-limits.ts';
import { createUseCases } from './payments/use-cases.ts';
import type { Config } from './start/config.ts';
import { createTransactionDependencies } from './start/create-transaction-dependencies.ts';
import { reportFigures } from './start/open-console.ts';
import { type ExamplesOf, followCertificate, listenAt, openFront } from './start/open-front.ts';
import { openCardReaders, openGatewayHsm } from './start/open-hsm-and-readers.ts';
import { openPushes } from './start/open-pushes.ts';
import { openCell, openDatabases, openMessages, openStores, type PreparedDatabase } from './start/open-stores.ts';
import { LongestDeadlines, openOtherProcesses, openSwitches } from './start/open-switches.ts';
import { logMinutes, logStart, openMetrics, openTraces } from './start/open-telemetry.ts';
import { type Closers, closeAll, type Opening, type Report } from './start/opening.ts';
import { type Siblings, shownFor } from './start/processes/siblings.ts';
import { type JobParts, openWakeups, startJobs } from './start/start-jobs.ts';
import { DatabaseClock } from './store/postgres/database-clock.ts';
import { postgresHandoverKeys } from './store/switches/handover-keys.ts';
import { KnownDatabase, requireNote } from './store/switches/known-database.ts';
import type { HsmDevices } from './switching/hsm/hsm-calls.ts';
import type { AcquirerSwitches } from './switching/switches/acquirer-switches.ts';
import { UnmatchedResponses } from './switching/switches/unmatched-responses.ts';

export interface Gateway {
  /** Address on which it listens, `http://127.0.0.1:8080`. */
  readonly url: string;
  /** All routes that it serves. */
  readonly routes: RouteTable;
  /** Refuses new taps, waits for the taps in flight, then closes everything in the reverse order of its start. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** Fills in the API reference of a demo; used only with DOCS_PROFILE. */
  readonly examplesOf?: ExamplesOf | undefined;
  /** The other processes behind the same port; undefined for a process that is alone. */
  readonly siblings?: Siblings | undefined;
  /** Interval at which settings in the database are followed: shorter for tests, which wait for it. */
  readonly settingsEveryMs?: number | undefined;
  /** Interval at which a process without work looks for jobs of others: shorter for tests, which wait for it. */
  readonly othersJobsEveryMs?: number | undefined;
}

/**
 * The composition root. This file and start/ construct everything in the order of its dependencies; a stop closes
 * it in the reverse order.
 *
 * @throws StartError when a requirement is missing or invalid, PlugInError naming an invalid plug-in
 */
export async function startGateway(
  config: Config,
  prepared: Pick<PreparedDatabase, 'url'>,
  log: Log,
  options: StartOptions = {},
): Promise<Gateway> {
  const closers: Closers = [];
  try {
    return await compose(config, prepared, { log, ...options }, closers);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function compose(
  config: Config,
  { url }: Pick<PreparedDatabase, 'url'>,
  { log, examplesOf, siblings, settingsEveryMs, othersJobsEveryMs }: StartOptions & { readonly log: Log },
  closers: Closers,
): Promise<Gateway> {
  const faults = new FaultLines(log);
  const report: Report = (what) => (error, about) => faults.write(what, error, about);
  const types = await loadProcessors({ external: config.PROCESSORS });
  const formats = await loadReaders({ external: config.READERS });
  const opening: Opening = { config, log, report, closers };
  const base = { ...opening, url, types, formats };
  const tracing = await openTraces(opening);
  const domain = await openDomain({ ...base, hasSiblings: siblings !== undefined, settingsEveryMs, tracing });
  const { databases, messages, switches, devices, metrics, stores, tapLoad } = domain;
  const database = databases.taps;

  const fetcher = new GuardedFetch({ policy: callbackPolicy(config.TAPWIRE_ENV) });
  closers.push(() => fetcher.close());
  const common = { ...base, ...domain, database, fetcher };
  const pushes = await openPushes({ ...common, origin: () => server.listeningOrigin });
  if (switches) await openWork({ ...common, pushes, othersJobsEveryMs }, switches);

  const health = new Health({ database, switches, devices });
  closers.push(() => health.stop());
  const counted = { metrics, databases, health, switches, messages };
  reportFigures(opening, counted);
  logMinutes(opening, counted);
  const shown = shownFor(siblings, health, metrics);
  const server = openFront({ ...common, pushes }, { tracing, examplesOf, shown, tapLoad });
  registerCertificates(metrics.registry, switches, followCertificate(server, opening));
  const listening = await listenAt(server, config, siblings?.listeners);
  closers.push(() => server.close());
  closers.push(() => health.drain());
  const known = { processors: stores.directory.processors().length, unusable: switches?.faults.size ?? 0 };
  logStart(opening, { url: listening, databaseUrl: url, ...known });
  return { url: listening, routes: server.routeTable, stop: () => closeAll(closers) };
}

interface DomainParts extends Opening {
  readonly url: string;
  /** Whether other processes share the port of this one. */
  readonly hasSiblings: boolean;
  readonly settingsEveryMs: number | undefined;
  readonly types: Awaited<ReturnType<typeof loadProcessors>>;
  readonly formats: ReaderFormats;
  readonly tracing: Awaited<ReturnType<typeof openTraces>>;
}

/** Everything that the use cases need: databases, clock, connections to switches, and the dependencies made of them. */
async function openDomain(base: DomainParts) {
  const { config, url, hasSiblings, settingsEveryMs, types, formats, tracing, log, report, closers } = base;
  const known = new KnownDatabase();
  const databases = openDatabases(url, config.DATABASE_CONNECTIONS, known, closers);
  const database = databases.taps;
  const stores = await openStores(base, databases, settingsEveryMs);
  const { keys, directory } = stores;
  const deadlines = new LongestDeadlines(types, directory);
  const pipeline = new PipelineHandle();
  const onAuthorize = () => pipeline.wake('authorize');
  const sharesSwitches = config.TAPWIRE_ROLE === 'worker' || (config.TAPWIRE_ROLE === 'all' && hasSiblings);
  const wakeups = openWakeups(base, { sharesSwitches, database, url, onAuthorize });
  const clock = await DatabaseClock.open(database);
  closers.push(() => clock.close());
  const hsm = await openGatewayHsm(base, database, clock);
  const cardReaders = openCardReaders(base, { formats, stores, clock, hsm });
  const opened = await openSwitchParts({ ...base, known, stores, databases, clock, hsm });
  const { switches, messages } = opened;
  const devices = devicesOf(hsm, keys.token);
  const ownTokens = new OwnTokens({ keys, name: config.TAPWIRE_AUDIENCE, nowMs: clock.nowMs });
  const handoverKeys = postgresHandoverKeys(database);
  const sealer = new HandoverSealer(handoverKeys);
  const others = switches && sharesSwitches ? await openOtherProcesses(base, database, switches, sealer) : undefined;
  const parts = { config, stores, ownTokens, cardReaders, deadlines, clock, switches, others, sealer, log, pipeline };
  const tapLoad = new TapLoad();
  const metrics = openMetrics(base, { databases, messages, tapLoad, switches, devices });
  const logRefused = createRefusedCardDataLog(log);
  const onRefused = (refused: RefusedCardData) => {
    metrics.countRefusedCardData(refused);
    logRefused(refused);
  };
  const observe = (load: TapLoad | undefined) => {
    const listeners = [logTransactions(log, clock.monotonicMs), countOutcomes(directory, metrics)];
    const onError = report('a commit could not be logged or counted');
    return new ProcessObserver({ listeners, onError, tracing, failpoints: config.TAPWIRE_FAILPOINTS, load });
  };
  const ofTaps = { observer: observe(tapLoad), wakeups: wakeups.ofTaps };
  const deps = createTransactionDependencies({ ...parts, ...ofTaps, onRefused });
  const depsOfJobs = { ...deps, ...stores.ofJobs, observer: observe(undefined), wakeups: wakeups.ofJobs };
  const made = { databases, others, stores, ownTokens, deadlines, handoverKeys, metrics, tapLoad };
  return { ...made, ...opened, devices, pipeline, tracing, deps, useCases: createUseCases(deps), depsOfJobs };
}

/** The devices of an HSM and the token of the key ring; undefined without either. */
function devicesOf(...holders: readonly (Partial<HsmDevices> | undefined)[]): HsmDevices | undefined {
  const devices = holders.filter((holder) => holder?.deviceStates !== undefined);
  if (devices.length === 0) return undefined;
  return { deviceStates: () => devices.flatMap((holder) => holder!.deviceStates!()) };
}

/** The switches of a process that has connections to them, and what records their messages and late responses. */
async function openSwitchParts({
  databases,
  known,
  stores,
  clock,
  hsm,
  ...base
}: DomainParts & {
  readonly known: KnownDatabase;
  readonly stores: Awaited<ReturnType<typeof openStores>>;
  readonly databases: ReturnType<typeof openDatabases>;
  readonly clock: DatabaseClock;
  readonly hsm: OpenedHsm | undefined;
}) {
  const { config, url, types, log, report, closers } = base;
  const onFault = report('late responses could not be recorded');
  const unmatchedResponses = new UnmatchedResponses(onFault, createUnmatchedLog(log));
  const messages = openMessages(base, databases.messages);
  const cell = await openCell(base, url, databases.reports, stores);
  // Closers run in reverse order, so this one runs before the locks of the cell are released: late responses that are held in
  // memory are recorded while this cell still serves its acquirers.
  closers.push(() => unmatchedResponses.close());
  const parts = { types, clock, hsm, unmatchedResponses, messages };
  const { directory } = stores;
  const isApi = config.TAPWIRE_ROLE === 'api';
  if (isApi)
    known.follow(directory.lostWindow(), (client) => requireNote(client).then(() => directory.readLostWindow(client)));
  const ofSwitches = { ...parts, directory, database: databases.taps, known, claims: cell?.locks };
  const switches = isApi ? undefined : await openSwitches(base, ofSwitches);
  if (switches) cell?.follow(switches);
  return { switches, messages, unmatchedResponses };
}

/** What a process with connections to switches does besides serving requests: late responses and jobs. */
async function openWork(
  common: Omit<JobParts, 'deps' | 'useCases' | 'around' | 'switches'> & Awaited<ReturnType<typeof openDomain>>,
  switches: AcquirerSwitches,
) {
  const { unmatchedResponses, deadlines, depsOfJobs, pipeline, tracing, closers } = common;
  const useCases = createUseCases(depsOfJobs);
  const { lateResponses } = useCases;
  unmatchedResponses.open((responses, isLastLookUp) => lateResponses.recordUnmatched(responses, isLastLookUp));
  // A stop waits for taps in flight: the longest deadline of a switch plus the time to respond.
  const drainMs = () => (deadlines.seconds + RESPONSE_SLACK_SECONDS) * 1_000;
  closers.push(() => switches.close(depsOfJobs.clock.monotonicMs() + drainMs()));
  const started = await startJobs({
    ...{ ...common, switches, useCases, deps: depsOfJobs },
    around: tracing && traceJobs(tracing),
  });
  pipeline.connect(started.pipeline, started.webhooks);
}
