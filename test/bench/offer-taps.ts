import { dueTimes } from '../../src/tools/load/arrival-plan.ts';
import type { ClientCall } from '../../src/tools/load/clients/fleet.ts';
import { ConnectionPool, type HttpResponse } from '../../src/tools/load/connection-pool.ts';
import { OpenLoop } from '../../src/tools/load/open-loop.ts';
import { Histogram, type Slice, type Tally } from '../../src/tools/load/tally.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';
import type { TapSource } from './e2e-taps.ts';

/** The outcome of a tap. The tally counts each, and keeps their latencies apart. */
export type TapEnd = 'approved' | 'refused' | 'other';

/**
 * Opened before the load, as those of a load balancer are. Above this, a tap waits for a connection, and its latency
 * includes that.
 */
const CONNECTIONS = 4_000;
/** Of those that are opened for a single tap: fewer than there are local ports. */
const MAX_NEW_CONNECTIONS = 16_000;
/** Less than the gateway keeps idle connections. */
const MAX_IDLE_MS = 60_000;
/** Far longer than any phone waits: only the gateway decides about a tap, never the generator. */
const RESPONSE_WITHIN_MS = 60_000;
/** One refused tap in 64 is never sent again: if refusals were stored, there would be more rows than approvals. */
const NEVER_AGAIN = 64;
const APPROVED = Buffer.from('"type":"Approved"');

export interface Offer {
  /** Of the gateway, for all its processes. */
  readonly port: number;
  readonly perSecond: number;
  readonly seconds: number;
  readonly taps: TapSource;
  readonly tally: Tally;
  readonly connections?: number;
  /** Each tap on a connection of its own, opened when the tap is due. */
  readonly isNewEach?: boolean;
}

/**
 * Offers taps at a constant rate, regardless of their responses. Refused taps are sent again later with
 * the same content, as phones do: to seal a new tap for each refusal would use the cores that the gateway needs.
 *
 * @returns the seconds from the first tap to the last response
 */
export async function offerTaps({
  port,
  perSecond,
  seconds,
  taps,
  tally,
  connections = CONNECTIONS,
  isNewEach = false,
}: Offer): Promise<number> {
  const refused = new RefusedTaps();
  const makeCall = () => tapCall(refused.take() ?? taps.take(), refused);
  const pool = await openConnections(port, connections, isNewEach);
  const startedAtMs = performance.now();
  const due = dueTimes([{ seconds, from: perSecond, to: perSecond }], 'poisson', seededRandom(1));
  await new OpenLoop({ dueTimes: due, makeCall, pool, tally, responseWithinMs: RESPONSE_WITHIN_MS }).run(startedAtMs);
  const tookSeconds = (performance.now() - startedAtMs) / 1_000;
  pool.close();
  return tookSeconds;
}

async function openConnections(port: number, connections: number, isNewEach: boolean): Promise<ConnectionPool> {
  const target = { host: '127.0.0.1', port, isTls: false };
  const counts = { kept: connections, most: isNewEach ? MAX_NEW_CONNECTIONS : connections, isNewEach };
  const pool = new ConnectionPool({ target, ...counts, maxIdleMs: MAX_IDLE_MS });
  const fault = await pool.fill();
  if (fault !== undefined) throw new Error(`Port ${port} takes no connections: ${fault}`);
  return pool;
}

/** The scenario of the call is its outcome, which is known when the response is read. */
function tapCall(request: Buffer, refused: RefusedTaps): ClientCall {
  let end: TapEnd = 'other';
  return {
    get scenario() {
      return end;
    },
    request,
    read: (response) => {
      end = endOf(response);
      if (end === 'refused') refused.add(request);
      const outcome = end === 'other' ? `HTTP ${response.status}` : end;
      return { outcome, isExpected: end !== 'other', isError: end === 'other' };
    },
  };
}

function endOf({ status, body, hasRetryAfter }: HttpResponse): TapEnd {
  if (status === 200 && body.includes(APPROVED)) return 'approved';
  return status === 503 && hasRetryAfter ? 'refused' : 'other';
}

/** In the order in which they were refused. */
class RefusedTaps {
  #waiting: Buffer[] = [];
  #next: Buffer[] = [];
  #count = 0;

  add(request: Buffer): void {
    if (this.#count++ % NEVER_AGAIN !== 0) this.#waiting.push(request);
  }

  take(): Buffer | undefined {
    if (this.#next.length === 0) {
      this.#next = this.#waiting.reverse();
      this.#waiting = [];
    }
    return this.#next.pop();
  }
}

/** How many taps ended in this way. */
export function countOf(slice: Slice, end: TapEnd): number {
  return Object.values(slice.scenarios[end]?.outcomes ?? {}).reduce((sum, count) => sum + count, 0);
}

/** How many taps ended in this way, and how long they took. */
export function endsOf(slice: Slice, end: TapEnd) {
  const latencies = slice.scenarios[end]?.latencies ?? { buckets: [], maxMs: 0 };
  return { count: countOf(slice, end), ...percentilesOf(latencies) };
}

export function percentilesOf(counts: Slice['lags']) {
  const histogram = new Histogram();
  histogram.add(counts);
  return { p50: histogram.percentileMs(0.5), p99: histogram.percentileMs(0.99), max: histogram.maxMs };
}
