import { z } from 'zod';
import { createClient, NoResponseError } from '#schemas/client';
import { LoadError } from '../../basics/errors.ts';

/** If a gateway does not respond within this time, this second has no figures of it. */
const SAMPLED_WITHIN_MS = 2_000;
/**
 * Before the test a longer wait is acceptable: a gateway may write its description at the first request, on a busy
 * machine.
 */
const DESCRIBED_WITHIN_MS = 20_000;

/** What a gateway reports of its switch connections, summed, at one moment. */
export interface GatewaySample {
  /** Requests in flight to a switch. */
  readonly inFlight: number;
  /** Requests that wait for a slot on a connection. */
  readonly pending: number;
  /** Waiting jobs, if the gateway reports them. */
  readonly queued: number | undefined;
}

/**
 * The environment that the installation reports (`/openapi.json`, servers): dev, qa or prod; undefined if it reports
 * none.
 *
 * @throws LoadError UNREACHABLE
 */
export async function askEnvironment(url: string): Promise<string | undefined> {
  const client = createClient({ baseUrl: url, timeoutMs: DESCRIBED_WITHIN_MS, repeats: 0 });
  const description = await client.getApiDescription().catch((cause) => {
    if (!(cause instanceof NoResponseError)) return undefined;
    throw new LoadError('UNREACHABLE', `No response from ${url}. Check that the gateway is running (npm start).`, {
      cause,
    });
  });
  return DESCRIPTION.safeParse(description).data?.servers[0].variables.env.default;
}

const DESCRIPTION = z.object({
  servers: z.tuple([z.object({ variables: z.object({ env: z.object({ default: z.string() }) }) })]).rest(z.unknown()),
});

/** Undefined if the gateway reports no figures. */
export async function sampleGateway(url: string): Promise<GatewaySample | undefined> {
  const client = createClient({ baseUrl: url, timeoutMs: SAMPLED_WITHIN_MS, repeats: 0 });
  const { switches = {} } = await client.getHealth().catch(() => ({ switches: {} }));
  const all = LINES.safeParse(Object.values(switches)).data ?? [];
  if (all.length === 0) return undefined;
  const sum = (key: 'inFlight' | 'pending') => all.reduce((total, each) => total + each[key], 0);
  return { inFlight: sum('inFlight'), pending: sum('pending'), queued: await queuedJobs(url) };
}

const LINES = z.array(z.object({ inFlight: z.number().default(0), pending: z.number().default(0) }));

/** The job queues in a Prometheus text. `/metrics` is not an operation of the API. */
async function queuedJobs(url: string): Promise<number | undefined> {
  try {
    const signal = AbortSignal.timeout(SAMPLED_WITHIN_MS);
    const response = await fetch(`${url.replace(/\/$/, '')}/metrics`, { signal });
    if (!response.ok) return undefined;
    const gauges = [...(await response.text()).matchAll(QUEUED)].map((match) => Number(match[1]));
    return gauges.length === 0 ? undefined : gauges.reduce((sum, value) => sum + value, 0);
  } catch {
    return undefined;
  }
}

/** Jobs that are due; jobs that wait for their time are timers. */
const QUEUED = /^tapwire_jobs\{[^}]*state="(?:ready|active|retry)"[^}]*\} (\d+)/gm;
