import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { RESPONSE_CODES } from '#schemas/response-codes';
import type { AttestationResult } from '../../auth/attestation/attestations.ts';
import type { OverloadedResource } from '../../basics/errors.ts';
import type { RefusedCardData } from '../../card/open-card-data.ts';
import { Disposition, type DispositionId, dispositionName } from '../../payments/model/disposition.ts';
import type { Transaction } from '../../payments/model/transaction.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import type { NewAttempt } from '../../payments/ports/store-ports.ts';
import type { CommitListener } from '../../payments/ports/transaction-dependencies.ts';
import { isOfPhone, type RequestLog } from '../request-log.ts';

type IntervalHistogram = ReturnType<typeof monitorEventLoopDelay>;
type MetricObject = Parameters<Registry['registerMetric']>[0];

const PREFIX = 'nodejs_eventloop_lag';
const NANOSECONDS_PER_SECOND = 1e9;
/** How often the delay of the loop is measured. Node's default wakes a process without work a hundred times a second. */
const LAG_EVERY_MS = 50;
/** prom-client measures the loop, too. Its gauges are removed, but its timer cannot be stopped. */
const UNUSED_MS = 3_600_000;

const FIGURES: readonly (readonly [name: string, help: string, read: (delays: IntervalHistogram) => number])[] = [
  ['min', 'Shortest delay of the event loop since the last scrape', (delays) => delays.min],
  ['mean', 'Mean delay of the event loop since the last scrape', (delays) => delays.mean],
  ['p50', 'Median delay of the event loop since the last scrape', (delays) => delays.percentile(50)],
  ['p99', '99th percentile of the delays of the event loop since the last scrape', (delays) => delays.percentile(99)],
  ['max', 'Longest delay of the event loop since the last scrape', (delays) => delays.max],
];

/**
 * Replaces prom-client's gauges of the event loop. If no delay was recorded since the last scrape (two scrapers a few
 * milliseconds apart), those report `Nan` and a minimum of 9 billion seconds. These keep the figures before.
 */
function measureEventLoopLag(registry: Registry): void {
  for (const { name } of registry.getMetricsAsArray()) if (name.startsWith(PREFIX)) registry.removeSingleMetric(name);
  const delays = monitorEventLoopDelay({ resolution: LAG_EVERY_MS });
  delays.enable();
  const refresh = () => {
    if (delays.count === 0) return;
    // What is measured includes the interval itself.
    for (const { gauge, read } of figures)
      gauge.set(Math.max(0, read(delays) / NANOSECONDS_PER_SECOND - LAG_EVERY_MS / 1_000));
    delays.reset();
  };
  // Metrics are read in the order of their registration: the first one sets all of them.
  const figures = FIGURES.map(([name, help, read], index) => ({
    gauge: new Gauge({
      name: `${PREFIX}_${name}_seconds`,
      help,
      registers: [registry],
      ...(index === 0 && { collect: refresh }),
    }),
    read,
  }));
}

let ofProcess: MetricObject[] | undefined;

/**
 * Memory, processor time, garbage collection and the event loop. They are of the process, and prom-client cannot stop
 * measuring them: gateways in one process share them, and a stopped gateway is not held by them.
 */
function metricsOfProcess(): readonly MetricObject[] {
  if (ofProcess) return ofProcess;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: UNUSED_MS });
  measureEventLoopLag(registry);
  ofProcess = registry.getMetricsAsArray() as unknown as MetricObject[];
  return ofProcess;
}

/** Buckets from the time of an echo to a switch's longest deadline. */
const REQUEST_BUCKETS_S = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 35, 60];
/** One fsync of a good disk takes a millisecond; a commit of a second is an alarm. */
const COMMIT_BUCKETS_S = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
const BATCH_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

const TAPS = '/transactions/mobile';
/** What can refuse a tap: this process, its store, and a switch without a free slot. */
const REFUSING: readonly OverloadedResource[] = ['gateway', 'store', 'switch'];

type RequestLabel = 'http_request_method' | 'http_route' | 'http_response_status_code';
type RequestSeries = Histogram.Internal<RequestLabel>;

/** A committed outcome, in the terms of the interface. */
export interface CountedOutcome {
  readonly disposition: string;
  readonly scheme: string;
  /** Its id; empty like `processor` if no switch was involved. */
  readonly acquirer: string;
  readonly processor: string;
}

/** A decline of a switch, by the code of its response. */
export interface CountedDecline {
  readonly acquirer: string;
  readonly processor: string;
  readonly code: string;
}

/**
 * The metrics of this process for Prometheus, under OpenTelemetry's names where they exist. Labels are patterns,
 * states and ids of configuration, never a reference, an address or card data.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Histogram<RequestLabel>;
  readonly #outcomes: Counter;
  readonly #declines: Counter;
  readonly #refusedTaps: Counter;
  readonly #problems: Counter;
  readonly #refusedCardData: Counter;
  readonly #attestations: Counter;
  readonly #commits: Histogram;
  readonly #batches: Histogram;
  readonly #requestSeries = new Map<string, RequestSeries>();

  constructor() {
    const registers = [this.registry];
    for (const metric of metricsOfProcess()) this.registry.registerMetric(metric);
    this.#requests = new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'Time from the request line to the last byte of the response',
      labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
      buckets: REQUEST_BUCKETS_S,
      registers,
    });
    this.#outcomes = new Counter({
      name: 'tapwire_outcomes_total',
      help: 'Outcomes committed, by disposition, card scheme and processor',
      labelNames: ['disposition', 'scheme', 'acquirer', 'processor'],
      registers,
    });
    this.#declines = new Counter({
      name: 'tapwire_declines_total',
      help: 'Declines of switches committed, by response code and processor',
      labelNames: ['code', 'acquirer', 'processor'],
      registers,
    });
    this.#refusedTaps = new Counter({
      name: 'tapwire_taps_refused_total',
      help: 'Taps refused with 503 before anything was stored, by what had too much to do',
      labelNames: ['reason'],
      registers,
    });
    // A series that begins with its first refusal would hide that refusal from rate().
    for (const reason of REFUSING) this.#refusedTaps.inc({ reason }, 0);
    this.#problems = new Counter({
      name: 'tapwire_tap_problems_total',
      help: 'Taps and PINs with a problem as response instead of an outcome, by HTTP status and errorCode',
      labelNames: ['status', 'error_code'],
      registers,
    });
    this.#refusedCardData = new Counter({
      name: 'tapwire_card_data_refused_total',
      help: 'Card data refused with errorCode 202, by format of the reader and reason; copied: used before by another tap',
      labelNames: ['format', 'reason'],
      registers,
    });
    this.#attestations = new Counter({
      name: 'tapwire_attestations_total',
      help: 'Attestations of devices checked, by result',
      labelNames: ['result'],
      registers,
    });
    this.#commits = new Histogram({
      name: 'tapwire_commit_duration_seconds',
      help: 'Duration of a group commit, from BEGIN to the result of COMMIT',
      buckets: COMMIT_BUCKETS_S,
      registers,
    });
    this.#batches = new Histogram({
      name: 'tapwire_commit_writes',
      help: 'Number of writes that shared one commit',
      buckets: BATCH_BUCKETS,
      registers,
    });
  }

  /** A request log that also measures. */
  watchRequests(log: RequestLog): RequestLog {
    return {
      responded: (request, reply) => {
        this.#seriesOf(request.method, request.routeOptions.url ?? 'unknown', reply.statusCode).observe(
          reply.elapsedTime / 1_000,
        );
        log.responded(request, reply);
      },
      unforeseen: (error, request) => log.unforeseen(error, request),
      overloaded: (request, resource) => {
        if (request.routeOptions.url === TAPS) this.#refusedTaps.inc({ reason: resource });
        log.overloaded(request, resource);
      },
      refused: (request, { status, errorCode }) => {
        if (isOfPhone(request)) this.#problems.inc({ status, error_code: errorCode });
        log.refused(request, { status, errorCode });
      },
    };
  }

  countOutcome(outcome: CountedOutcome): void {
    this.#outcomes.inc({ ...outcome });
  }

  countDecline(decline: CountedDecline): void {
    this.#declines.inc({ ...decline });
  }

  countRefusedCardData({ format, reason }: Pick<RefusedCardData, 'format' | 'reason'>): void {
    this.#refusedCardData.inc({ format, reason });
  }

  countAttestation(result: AttestationResult): void {
    this.#attestations.inc({ result: result.toLowerCase() });
  }

  recordCommit(seconds: number, writes: number): void {
    this.#commits.observe(seconds);
    this.#batches.observe(writes);
  }

  /** The response to a scrape. */
  text(): Promise<string> {
    return this.registry.metrics();
  }

  /**
   * There are few routes and status codes. Building the key of the labels for each request would cost more than the
   * rest.
   */
  #seriesOf(method: string, route: string, status: number): RequestSeries {
    const key = `${method} ${route} ${status}`;
    let series = this.#requestSeries.get(key);
    if (series === undefined) {
      series = this.#requests.labels(method, route, String(status));
      this.#requestSeries.set(key, series);
    }
    return series;
  }
}

/** Counts every outcome that this process commits. */
export function countOutcomes(directory: Pick<Directory, 'routes'>, metrics: Metrics): CommitListener {
  const count = (transaction: Transaction, disposition: DispositionId | null, responseCode?: string | null) => {
    if (disposition === null) return;
    const { acquirerId, routeId, scheme } = transaction;
    const route = directory.routes(acquirerId).find(({ id }) => id === routeId);
    // The labels of the metrics of connections, so that Prometheus can join them.
    const labels = route
      ? { acquirer: String(acquirerId), processor: String(route.processorId) }
      : { acquirer: '', processor: '' };
    metrics.countOutcome({ disposition: dispositionName(disposition), scheme: scheme ?? 'none', ...labels });
    if (disposition === Disposition.Declined && responseCode)
      metrics.countDecline({ ...labels, code: responseCode in RESPONSE_CODES ? responseCode : 'other' });
  };
  const countAttempt = ({ transaction }: NewAttempt) => count(transaction, transaction.disposition);
  return {
    insert: countAttempt,
    retry: countAttempt,
    decision: ({ transaction, decision: { result } }) => count(transaction, result.disposition, result.responseCode),
    expirePin: ({ transaction, disposition }) => count(transaction, disposition),
    stepReversal: ({ transaction, to }) => {
      const { Voided } = Disposition;
      if (to.disposition === Voided && transaction.disposition !== Voided) count(transaction, Voided);
    },
  };
}
