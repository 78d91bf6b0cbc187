import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ResponseOverdue } from '../basics/errors.ts';

/** Covers two commits and two reads at their limits, and the check of a callback URL. */
const PLAIN_MS = 30_000;
/**
 * For routes that wait for a switch: time to accept the request and to decide, each with a database at its limits.
 */
const COMMITS_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 500;

/** A request and its reply, until the response has ended. */
interface Waiting {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly startedAtMs: number;
  /** A problem response was sent. If the client has not taken it by the next check, its connection is closed. */
  isGivenUp: boolean;
}

/** The place of a request in the list of all. It is empty when the response has ended. */
interface Place {
  waiting: Waiting | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Place of the request in the list of deadlines. */
    deadlinePlace: Place | undefined;
  }
}

export interface ResponseTimes {
  /** Time in which a request must receive a response; the default is in seconds. */
  readonly plainMs?: number;
  /** Time for which a route that waits for a switch may wait for it. */
  readonly switchWaitMs: () => number;
}

/**
 * Responds to or closes every request before its deadline passes, even if its handler still waits. All requests share
 * one timer. The timer checks requests from the oldest on and stops at the first that is within the deadline of any
 * route.
 *
 * The list is an array with empty places. A Map would keep ended requests alive: it discards an internal table every few
 * requests, and these survive until the next full collection (see pending-requests.ts; at half load, the heap before a collection
 * had 130 to 190 MB with a Map, and 80 to 100 MB with this).
 */
export function keepResponseDeadlines(
  server: FastifyInstance,
  { plainMs = PLAIN_MS, switchWaitMs }: ResponseTimes,
): void {
  const limitOf = ({ routeOptions: { config } }: FastifyRequest) => {
    if (config.facts?.isEndless) return Number.POSITIVE_INFINITY;
    return config.facts?.waitsForSwitch ? switchWaitMs() + COMMITS_WITHIN_MS : plainMs;
  };
  let places: Place[] = [];
  server.decorateRequest('deadlinePlace');
  server.addHook('onRequest', (request, reply, done) => {
    const place = { waiting: { request, reply, startedAtMs: performance.now(), isGivenUp: false } };
    request.deadlinePlace = place;
    places.push(place);
    done();
  });
  server.addHook('onResponse', (request, _reply, done) => {
    if (request.deadlinePlace) request.deadlinePlace.waiting = undefined;
    done();
  });
  const look = () => {
    places = places.filter(({ waiting }) => waiting !== undefined);
    const nowMs = performance.now();
    for (const { waiting } of places) {
      if (waiting === undefined) continue;
      const ageMs = nowMs - waiting.startedAtMs;
      if (ageMs <= Math.min(plainMs, COMMITS_WITHIN_MS)) break;
      if (ageMs > limitOf(waiting.request)) giveUp(waiting);
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  server.addHook('onClose', (_server, done) => {
    clearInterval(timer);
    done();
  });
}

function giveUp(waiting: Waiting): void {
  const { reply } = waiting;
  if (waiting.isGivenUp || reply.sent) {
    reply.raw.destroy();
    return;
  }
  waiting.isGivenUp = true;
  const { facts } = waiting.request.routeOptions.config;
  reply.send(new ResponseOverdue(facts?.waitsForSwitch === true));
}
