/**
 * Entry point of a process that sends a share of the calls of a load test; `load-run.ts` starts it. It reports
 * every second, so that a test that ends early has a result.
 */
import type { CardDataPublicKey } from '#schemas/card-data';
import { createClient, NoResponseError } from '#schemas/client';
import { LoadError } from '../../basics/errors.ts';
import { seededRandom } from '../simulator/faults.ts';
import { dueTimes } from './arrival-plan.ts';
import { type ClientCall, Fleet, RequestWriter, targetOf } from './clients/fleet.ts';
import type { KeptResponse } from './clients/tap-calls.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { FromWorker, ToWorker, WorkerPlan } from './load-run.ts';
import { OpenLoop } from './open-loop.ts';
import { ResponseFile, responsesPath } from './response-file.ts';
import { findScenario, mixDraw } from './scenarios.ts';
import { Tally } from './tally.ts';

const SLICE_MS = 1_000;
/** A second stream of random numbers, so that another mix does not change the times of arrival. */
const MIX_SEED = 0x6d6978;

process.on('message', (message: ToWorker) => {
  handle(message).catch((error: unknown) => tell({ kind: 'broken', reason: reasonOf(error) }));
});
// A worker whose parent has ended has no reader for its results.
process.on('disconnect', () => process.exit(0));
// Ctrl-C in a terminal reaches all processes; the parent decides when to stop.
process.on('SIGINT', () => {});

let loop: OpenLoop;
let pool: ConnectionPool;
let responses: ResponseFile | undefined;
const tally = new Tally();

async function handle(message: ToWorker): Promise<void> {
  if (message.kind === 'prepare') await prepare(message.plan);
  else if (message.kind === 'start') await run(message.atMs);
  else loop.stop(message.withinMs);
}

async function prepare(plan: WorkerPlan): Promise<void> {
  const url = new URL(plan.url);
  const { issuer, merchants, shortDeadlineTerminal, apiKey } = plan.profile;
  const cardDataKey = await askForCardDataKey(plan.url);
  const { phones, seconds } = plan;
  const fleet = await Fleet.create({ issuer, merchants, cardDataKey, phones, seconds, shortDeadlineTerminal });
  const backend = apiKey === undefined ? undefined : { apiKey };
  responses =
    plan.responsesFolder === undefined ? undefined : new ResponseFile(responsesPath(plan.responsesFolder, plan.worker));
  const keepResponse = (response: KeptResponse) => responses?.add(response);
  const clients = { fleet, backend, requests: new RequestWriter(url, plan.connections.isNewEach), keepResponse };
  pool = new ConnectionPool({ target: targetOf(url), ...plan.connections });
  const fault = await pool.fill();
  if (fault !== undefined) throw new LoadError('UNREACHABLE', `${plan.url} takes no connections: ${fault}`);
  const { segments, spacing } = plan.arrivals;
  const times = dueTimes(segments, spacing, seededRandom(plan.seed));
  const draw = shareOfMix(plan);
  let number = plan.worker - plan.workers;
  const makeCall = (): ClientCall => {
    const name = draw();
    number += plan.workers;
    return findScenario(name)!.call(clients, name, number);
  };
  const { responseWithinMs } = plan;
  loop = new OpenLoop({ dueTimes: everyNth(times, plan), makeCall, pool, tally, responseWithinMs });
  tell({ kind: 'ready' });
}

async function askForCardDataKey(url: string): Promise<CardDataPublicKey> {
  const { origin } = new URL(url);
  const { keys } = await createClient({ baseUrl: url, repeats: 0 })
    .getCardDataKeys()
    .catch((cause) => {
      const reason =
        cause instanceof NoResponseError
          ? `No response from ${origin}. Check that the gateway is running.`
          : `${origin} publishes no card data key, so it is not a Tapwire gateway.`;
      throw new LoadError('UNREACHABLE', reason, { cause });
    });
  return keys[0]!;
}

/**
 * Every worker iterates over the whole schedule and takes its own share: together they run the same test, regardless of
 * their number.
 */
function* everyNth(times: Iterable<number>, { worker, workers }: WorkerPlan): Generator<number> {
  let at = 0;
  for (const time of times) if (at++ % workers === worker) yield time;
}

function shareOfMix({ mix, seed, worker, workers }: WorkerPlan): () => string {
  const draw = mixDraw(mix, seededRandom(seed ^ MIX_SEED));
  return () => {
    let own = '';
    for (let at = 0; at < workers; at++) {
      const name = draw();
      if (at === worker) own = name;
    }
    return own;
  };
}

async function run(atMs: number): Promise<void> {
  const startAtMs = performance.now() + (atMs - Date.now());
  let before = performance.eventLoopUtilization();
  const report = () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const levels = { inFlight: loop.inFlight, waiting: loop.waiting, connections: pool.size, busy: utilization };
    const second = Math.max(0, Math.round((performance.now() - startAtMs) / SLICE_MS) - 1);
    tell({ kind: 'slice', second, slice: tally.take(levels) });
    responses?.write();
  };
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, atMs - Date.now())));
  const timer = setInterval(report, SLICE_MS);
  await loop.run(startAtMs);
  clearInterval(timer);
  report();
  responses?.write();
  pool.close();
  tell({ kind: 'done' });
}

function tell(message: FromWorker): void {
  process.send?.(message);
}

/** One line, because it is shown in the terminal that started the test. */
function reasonOf(error: unknown): string {
  return error instanceof LoadError ? error.reason : `a worker of the load test failed: ${(error as Error).message}`;
}
