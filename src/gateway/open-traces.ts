import type { Config } from '../config.ts';
import type { Log } from '../ops/log.ts';
import { openTracing } from '../ops/tracing/open-tracing.ts';
import type { Tracing } from '../ops/tracing/tracing.ts';
import type { Closers } from './closers.ts';

/** Undefined without a collector; tracing then costs nothing. */
export async function openTraces(config: Config, log: Log, closers: Closers): Promise<Tracing | undefined> {
  const opened = await openTracing({
    endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    share: config.OTEL_TRACES_SAMPLER_ARG,
    env: config.TAPWIRE_ENV,
    role: config.TAPWIRE_ROLE,
    log,
  });
  if (opened) closers.push(() => opened.close());
  return opened?.tracing;
}
