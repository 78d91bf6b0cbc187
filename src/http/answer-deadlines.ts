import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AnswerOverdue } from '../errors.ts';

/** Covers two commits and two reads at their limits, and the check of a callback URL. */
const PLAIN_MS = 30_000;
/**
 * For routes that wait for a switch: time to accept the request and to decide, each with a database at its limits.
 */
const COMMITS_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 500;

interface Open {
  readonly request: FastifyRequest;
  readonly startedAtMs: number;
  /** A problem response was sent. If the client has not taken it by the next check, its connection is closed. */
  isGivenUp: boolean;
}

export interface AnswerTimes {
  /** Time in which a request must be answered; the default is in seconds. */
  readonly plainMs?: number;
  /** Time for which a route that waits for a switch may wait for it. */
  readonly switchWaitMs: () => number;
}

/**
 * Answers or closes every request before its deadline passes, even if its handler still waits. All requests share one
 * timer. The timer checks requests from the oldest on and stops at the first that is within the deadline of any route.
 */
export function keepAnswerDeadlines(server: FastifyInstance, { plainMs = PLAIN_MS, switchWaitMs }: AnswerTimes): void {
  const limitOf = ({ routeOptions: { config } }: FastifyRequest) => {
    if (config.facts?.isEndless) return Number.POSITIVE_INFINITY;
    return config.facts?.waitsForSwitch ? switchWaitMs() + COMMITS_WITHIN_MS : plainMs;
  };
  const open = new Map<FastifyReply, Open>();
  server.addHook('onRequest', (request, reply, done) => {
    open.set(reply, { request, startedAtMs: performance.now(), isGivenUp: false });
    done();
  });
  server.addHook('onResponse', (_request, reply, done) => {
    open.delete(reply);
    done();
  });
  const look = () => {
    const nowMs = performance.now();
    for (const [reply, waiting] of open) {
      const ageMs = nowMs - waiting.startedAtMs;
      if (ageMs <= Math.min(plainMs, COMMITS_WITHIN_MS)) break;
      if (ageMs > limitOf(waiting.request)) giveUp(reply, waiting);
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS).unref();
  server.addHook('onClose', (_server, done) => {
    clearInterval(timer);
    done();
  });
}

function giveUp(reply: FastifyReply, waiting: Open): void {
  if (waiting.isGivenUp || reply.sent) {
    reply.raw.destroy();
    return;
  }
  waiting.isGivenUp = true;
  const { facts } = waiting.request.routeOptions.config;
  reply.send(new AnswerOverdue(facts?.waitsForSwitch === true));
}
