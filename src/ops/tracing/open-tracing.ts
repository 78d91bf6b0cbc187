import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, DiagLogLevel, diag, trace } from '@opentelemetry/api';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';
import { StartError } from '../../errors.ts';
import { LogBudget } from '../../limits/log-budget.ts';
import type { Log } from '../log.ts';
import { AsyncContexts } from './async-contexts.ts';
import { Tracing } from './tracing.ts';

/** A collector that is away is told of this often, whatever the exporter has to say of each batch. */
const WARNINGS_PER_SECOND = 1;
/** A collector that does not answer by then costs its batch of spans, and no stop of a process. */
const SEND_WITHIN_MS = 3_000;
const SCOPE = 'tapwire';

export interface TracingSettings {
  /** The collector's base URL (OTLP over HTTP); undefined where no traces are wanted. */
  readonly endpoint: string | undefined;
  /** Of the traces that begin here, 0 to 1; a caller's decision about its own trace goes first. */
  readonly share: number;
  readonly env: string;
  readonly role: string;
  readonly log: Log;
}

export interface OpenTracing {
  readonly tracing: Tracing;
  /** Sends what is left, if the collector takes it soon, and ends. */
  close(): Promise<void>;
}

/**
 * Spans to a collector, by the packages of OpenTelemetry that npm installs unless told to omit optional ones.
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

/** The same with another way for spans to leave. */
async function recordTraces(
  processor: SpanProcessor,
  { share, env, role }: Pick<TracingSettings, 'share' | 'env' | 'role'>,
): Promise<OpenTracing> {
  const [{ ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider }, { resourceFromAttributes }] =
    await Promise.all([import('@opentelemetry/sdk-trace'), import('@opentelemetry/resources')]).catch(missing);
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
  // Plug-ins that make spans of their own find ours as their parents.
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncContexts());
  return {
    tracing: new Tracing(provider.getTracer(SCOPE)),
    close: async () => {
      const late = sleep(SEND_WITHIN_MS, undefined, { ref: false });
      const sent = provider.shutdown().catch(() => diag.warn('the last spans are lost'));
      await Promise.race([sent, late]);
      trace.disable();
      context.disable();
    },
  };
}

function missing(cause: unknown): never {
  throw new StartError(
    'BAD_CONFIG',
    'OTEL_EXPORTER_OTLP_ENDPOINT is set, and the packages of OpenTelemetry that it needs are not installed: they come with "npm ci" unless optional ones are omitted.',
    { cause },
  );
}

/** In words of ours: what the exporter says may quote addresses and headers. */
function warnOfExporter(log: Log): void {
  const budget = new LogBudget(WARNINGS_PER_SECOND);
  const warn = () =>
    budget.spend(performance.now(), (suppressed) =>
      log.warn({ suppressed }, 'spans could not be sent to the collector'),
    );
  const ignore = () => {};
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
}
