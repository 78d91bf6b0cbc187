import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, DiagLogLevel, diag, trace } from '@opentelemetry/api';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';
import { StartError } from '../../basics/errors.ts';
import { LogBudget } from '../../basics/limits/log-budget.ts';
import type { Log } from '../log.ts';
import { Tracing } from './tracing.ts';

/** Limits the warnings about an unavailable collector; the exporter reports each batch. */
const WARNINGS_PER_SECOND = 1;
/** After this time a batch of spans is dropped, so that a collector without a response does not delay a stop. */
const SEND_WITHIN_MS = 3_000;
const SCOPE = 'tapwire';

export interface TracingSettings {
  /** The collector's base URL (OTLP over HTTP); undefined when tracing is disabled. */
  readonly endpoint: string | undefined;
  /**
   * Recorded share of the traces that begin here, 0 to 1; a caller's decision about its own trace takes precedence.
   */
  readonly share: number;
  readonly env: string;
  readonly role: string;
  readonly log: Log;
}

export interface OpenTracing {
  readonly tracing: Tracing;
  /** Sends the remaining spans, if the collector accepts them in time, and ends. */
  close(): Promise<void>;
}

/**
 * Sends spans to a collector with the OpenTelemetry packages, which npm installs unless optional dependencies are
 * omitted.
 *
 * @throws StartError BAD_CONFIG when an endpoint is set and the packages are missing
 */
export async function openTracing(settings: TracingSettings): Promise<OpenTracing | undefined> {
  const { endpoint, log } = settings;
  if (endpoint === undefined) return undefined;
  const [{ BatchSpanProcessor }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]).catch(missing);
  warnOfExporter(log);
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: SEND_WITHIN_MS,
  });
  return recordTraces(new BatchSpanProcessor({ exporter }), settings);
}

/** Like `openTracing`, with another exporter. */
async function recordTraces(
  processor: SpanProcessor,
  { share, env, role }: Pick<TracingSettings, 'share' | 'env' | 'role'>,
): Promise<OpenTracing> {
  const [sdk, { resourceFromAttributes }, { AsyncLocalStorageContextManager }] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/context-async-hooks'),
  ]).catch(missing);
  const { ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } = sdk;
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    resource: resourceFromAttributes({
      'service.name': 'tapwire',
      'service.instance.id': randomUUID(),
      'deployment.environment.name': env,
      'tapwire.role': role,
    }),
    spanProcessors: [processor],
  });
  // With a global provider, spans of plug-ins get the spans of the gateway as parents.
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  return {
    tracing: new Tracing(provider.getTracer(SCOPE)),
    close: async () => {
      const sent = provider.shutdown().then(() => true);
      const late = sleep(SEND_WITHIN_MS, false, { ref: false });
      const isSent = await Promise.race([sent, late]).catch(() => false);
      if (!isSent) diag.warn('last spans were lost');
      trace.disable();
      context.disable();
    },
  };
}

function missing(cause: unknown): never {
  throw new StartError(
    'BAD_CONFIG',
    'OTEL_EXPORTER_OTLP_ENDPOINT is set, but the OpenTelemetry packages are not installed. Run "npm ci" without omitting optional dependencies.',
    { cause },
  );
}

/** Uses constant texts, because the exporter's messages may quote addresses and headers. */
function warnOfExporter(log: Log): void {
  const budget = new LogBudget(WARNINGS_PER_SECOND);
  const warn = () =>
    budget.spend(performance.now(), (suppressed) =>
      log.warn({ suppressed }, 'spans could not be sent to the collector'),
    );
  const ignore = () => {};
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
}
