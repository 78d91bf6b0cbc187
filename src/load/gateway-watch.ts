import { z } from 'zod';
import { LoadError } from '../errors.ts';

/** A gateway that does not answer this soon has no figures for this second. */
const SAMPLED_WITHIN_MS = 2_000;
/** Before the test there is time: a gateway may write its description at the first request, on a machine that is busy. */
const DESCRIBED_WITHIN_MS = 20_000;

/** What a gateway says of its lines to the switches, all of them together, at one moment. */
export interface GatewaySample {
  /** On their way to a switch. */
  readonly inFlight: number;
  /** Waiting for a place on a line. */
  readonly pending: number;
  /** Jobs that wait, where the gateway tells. */
  readonly queued: number | undefined;
}

/**
 * Which kind of installation it is, by its own word (`/openapi.json`, servers): dev, qa or prod; undefined when it does not
 * tell.
 *
 * @throws LoadError UNREACHABLE
 */
export async function askEnvironment(url: string): Promise<string | undefined> {
  const response = await ask(url, '/openapi.json', DESCRIBED_WITHIN_MS).catch((cause) => {
    throw new LoadError('UNREACHABLE', `Nobody answers at ${url}: is the gateway running? (npm start)`, { cause });
  });
  const described = DESCRIPTION.safeParse(await response.json().catch(() => undefined));
  return described.data?.servers[0].variables.env.default;
}

const DESCRIPTION = z.object({
  servers: z.tuple([z.object({ variables: z.object({ env: z.object({ default: z.string() }) }) })]).rest(z.unknown()),
});

/** Undefined when it does not tell. */
export async function sampleGateway(url: string): Promise<GatewaySample | undefined> {
  try {
    const response = await ask(url, '/healthz', SAMPLED_WITHIN_MS);
    const { switches } = (await response.json()) as {
      switches?: Record<string, { inFlight?: number; pending?: number }>;
    };
    const all = Object.values(switches ?? {});
    const sum = (key: 'inFlight' | 'pending') => all.reduce((total, each) => total + (each[key] ?? 0), 0);
    return all.length === 0
      ? undefined
      : { inFlight: sum('inFlight'), pending: sum('pending'), queued: await queuedJobs(url) };
  } catch {
    return undefined;
  }
}

/** Prometheus text, as far as it tells of job queues. */
async function queuedJobs(url: string): Promise<number | undefined> {
  const response = await ask(url, '/metrics', SAMPLED_WITHIN_MS).catch(() => undefined);
  if (!response?.ok) return undefined;
  const gauges = [...(await response.text()).matchAll(QUEUED)].map((match) => Number(match[1]));
  return gauges.length === 0 ? undefined : gauges.reduce((sum, value) => sum + value, 0);
}

/** Jobs whose time has come; those that wait for theirs are timers. */
const QUEUED = /^tapwire_jobs\{[^}]*state="(?:ready|active|retry)"[^}]*\} (\d+)/gm;

function ask(url: string, path: string, withinMs: number): Promise<Response> {
  const base = new URL(url);
  return fetch(new URL(`${base.pathname.replace(/\/$/, '')}${path}`, base), {
    signal: AbortSignal.timeout(withinMs),
  });
}
