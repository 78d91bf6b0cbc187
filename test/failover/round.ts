import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { compareBooks } from './books.ts';
import type { Fault } from './faults.ts';
import type { PatroniCluster } from './patroni-cluster.ts';
import type { Phones, Tap, Traffic } from './phones.ts';
import type { Site } from './site.ts';

/** Traffic before the fault, after the recovery, and after the failed node has returned. */
const TRAFFIC_MS = 4_000;
/** Several times what a failover takes with the timings of Patroni. */
const RECOVERS_WITHIN_MS = 120_000;
/** How often the nodes are asked which is the primary. */
const LOOK_EVERY_MS = 50;
/** Refused taps that their phones send again. The others remain refused. */
const REPEATED_REFUSALS = 200;
/** A quiet time of the phones that is longer than this is an outage. */
const LEAST_OUTAGE_MS = 250;

export interface RoundResult {
  readonly fault: Fault;
  /** From the event to the first tap that received an outcome after the outage. */
  readonly recoveryMs: number;
  /** From the event until another node responds as the primary. */
  readonly promotionMs: number;
  /** From the event until it confirms a commit, which a synchronous standby must have. */
  readonly writableMs: number;
  /** Without any tap that got an outcome. */
  readonly outageMs: number;
  readonly sent: number;
  readonly responded: number;
  /** 503: nothing was stored. */
  readonly refused: number;
  /** 500 with errorCode 201: the gateway does not know whether the tap is stored. */
  readonly uncertain: number;
  readonly withoutResponse: number;
  /** Other responses. */
  readonly unexpected: readonly string[];
  readonly disagreements: readonly string[];
  /** Responses in each second from the event on. */
  readonly seconds: readonly SecondOfRound[];
}

interface SecondOfRound {
  /** 0 begins with the event. */
  readonly second: number;
  readonly responded: number;
  readonly refused: number;
  readonly others: number;
}

export interface RoundParts {
  readonly cluster: PatroniCluster;
  readonly site: Site;
  readonly phones: Phones;
  readonly ledgerUrl: string;
  readonly perSecond: number;
}

/** One failover under load, and the comparison of all books afterwards. */
export async function runRound(parts: RoundParts, fault: Fault): Promise<RoundResult> {
  const { cluster, site, phones, perSecond } = parts;
  const node = await cluster.untilWhole();
  await site.untilReady();
  const since = new Date();
  const traffic = phones.start(perSecond);
  await sleep(TRAFFIC_MS);
  const eventAtMs = performance.now();
  fault.begin(cluster, node, site);
  const successor = await promotion(cluster, node);
  const promotedAtMs = performance.now();
  await cluster.untilWritable(successor);
  const writableAtMs = performance.now();
  await untilServed(traffic, promotedAtMs);
  await sleep(TRAFFIC_MS);
  fault.heal(cluster, node);
  await sleep(TRAFFIC_MS);
  await traffic.stop();
  await cluster.untilWhole();
  const { taps } = traffic;
  const counts = countOf(taps);
  const outage = longestOutage(taps, eventAtMs);
  const seconds = secondsOf(taps, eventAtMs); // a repeated tap has another response
  await phones.repeat(repeatable(taps), perSecond);
  const { ledgerUrl } = parts;
  const disagreements = await compareBooks({ databaseUrl: cluster.url, ledgerUrl, since, taps });
  const recoveryMs = outage.endAtMs - eventAtMs;
  const outageMs = outage.endAtMs - outage.startAtMs;
  const successorMs = { promotionMs: promotedAtMs - eventAtMs, writableMs: writableAtMs - eventAtMs };
  return { fault, recoveryMs, ...successorMs, outageMs, ...counts, disagreements, seconds };
}

/** Waits until another node responds as the primary. */
async function promotion(cluster: PatroniCluster, former: number): Promise<number> {
  const giveUpAtMs = performance.now() + RECOVERS_WITHIN_MS;
  while (performance.now() < giveUpAtMs) {
    const primary = await cluster.successorOf(former);
    if (primary !== undefined) return primary;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error('no other node became the primary');
}

async function untilServed(traffic: Traffic, promotedAtMs: number): Promise<void> {
  await eventually(() => {
    const isServed = traffic.taps.some(({ id, respondedAtMs = 0 }) => id !== undefined && respondedAtMs > promotedAtMs);
    if (!isServed) throw new Error('no tap gets an outcome although there is a primary');
  }, RECOVERS_WITHIN_MS);
}

/** The longest time after the event in which no tap got an outcome. */
function longestOutage(taps: readonly Tap[], eventAtMs: number): { startAtMs: number; endAtMs: number } {
  const times = taps.flatMap(({ id, respondedAtMs }) => (id === undefined ? [] : respondedAtMs!)).sort((a, b) => a - b);
  let longest = { startAtMs: eventAtMs, endAtMs: eventAtMs };
  for (const [at, endAtMs] of times.entries()) {
    const startAtMs = times[at - 1] ?? endAtMs;
    if (endAtMs < eventAtMs || endAtMs - startAtMs < LEAST_OUTAGE_MS) continue;
    if (endAtMs - startAtMs > longest.endAtMs - longest.startAtMs) longest = { startAtMs, endAtMs };
  }
  return longest;
}

function countOf(taps: readonly Tap[]) {
  const count = (isCounted: (tap: Tap) => boolean) => taps.filter(isCounted).length;
  const responded = count(({ id }) => id !== undefined);
  const refused = count(({ status }) => status === 503);
  const uncertain = count(({ status, errorCode }) => status === 500 && errorCode === 201);
  const withoutResponse = count(({ status }) => status === undefined);
  const isExpected = ({ id, status, errorCode }: Tap) =>
    id !== undefined || status === undefined || status === 503 || (status === 500 && errorCode === 201);
  const others = taps.filter((tap) => !isExpected(tap));
  const unexpected = [...new Set(others.map(({ status, errorCode }) => `HTTP ${status}, errorCode ${errorCode}`))];
  return { sent: taps.length, responded, refused, uncertain, withoutResponse, unexpected };
}

function secondsOf(taps: readonly Tap[], eventAtMs: number): SecondOfRound[] {
  const responded = taps.filter(({ respondedAtMs }) => respondedAtMs !== undefined);
  const bySecond = Map.groupBy(responded, ({ respondedAtMs }) => Math.floor((respondedAtMs! - eventAtMs) / 1_000));
  const seconds = [...bySecond].map(([second, those]) => {
    const { sent, responded, refused } = countOf(those);
    return { second, responded, refused, others: sent - responded - refused };
  });
  return seconds.sort((one, other) => one.second - other.second);
}

/** A phone without an outcome sends its tap again, and gets the stored outcome, or a new one if nothing was stored. */
function repeatable(taps: readonly Tap[]): Tap[] {
  const refused = taps.filter(({ status }) => status === 503).slice(0, REPEATED_REFUSALS);
  return [...taps.filter(({ id, status }) => id === undefined && status !== 503), ...refused];
}
