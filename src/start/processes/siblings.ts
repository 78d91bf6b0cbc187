import cluster from 'node:cluster';
import type { Health, Readiness } from '../../observe/health.ts';
import { type MetricValues, metricsOf } from '../../observe/metrics/merge-metrics.ts';
import type { Metrics } from '../../observe/metrics/metrics.ts';

/** The primary starts each process with its number in this variable. */
export const NUMBER_VARIABLE = 'TAPWIRE_PROCESS_NUMBER';
/**
 * The primary binds the sockets, so they outlive each process and lose no connection. It opens them in each process as the
 * descriptors behind the standard streams and the channel. This variable has their number.
 */
export const LISTENERS_VARIABLE = 'TAPWIRE_LISTENERS';
const FIRST_LISTENER = 4;
/** The primary ends a process that it has not heard of for six times as long. */
export const ALIVE_EVERY_MS = 5_000;
/** The longest deadline of any switch (two minutes) with its slack. The program above usually ends the group earlier. */
export const DRAINED_WITHIN_MS = 150_000;
/** Longer than the primary waits for the slowest process. */
const RESPONSE_WITHIN_MS = 4_000;

type Readers = { readonly [Name in ReportName]: () => Promise<MemberReports[Name]> };

/** The other processes behind the same port, as one of them sees them: through the primary. */
export class Siblings {
  /** Counts from 1; a replacement has the number of its predecessor. */
  readonly number: number;
  readonly #questions = new Questions<GroupReports[ReportName]>();
  #readers: Readers | undefined;
  #drain = () => {};
  /** Resolves when the primary asks this process to stop, or has ended. */
  readonly drained: Promise<void>;

  private constructor(number: number) {
    this.number = number;
    this.drained = new Promise((resolve) => {
      this.#drain = resolve;
    });
    // Node ends a worker whose primary has ended. This one responds to the taps in flight first.
    cluster.worker!.exitedAfterDisconnect = true;
    cluster.worker!.on('error', () => {}); // a message to a primary that has ended
    process.on('message', (message) => this.#receive(message as FromPrimary));
    process.on('disconnect', () => this.#drain());
    process.on('SIGTERM', () => this.#drain());
    // A terminal sends these to the whole group. The primary decides what they mean.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
    setInterval(() => this.#send({ kind: 'alive' }), ALIVE_EVERY_MS).unref();
  }

  /** @throws Error in a process that no primary has started */
  static connect(): Siblings {
    const number = Number(process.env[NUMBER_VARIABLE]);
    if (!cluster.isWorker || !Number.isInteger(number)) throw new Error('A primary starts this program');
    return new Siblings(number);
  }

  /** Descriptors of the sockets on which this process listens. None if `node:cluster` passes each connection to it. */
  get listeners(): readonly number[] {
    return Array.from({ length: Number(process.env[LISTENERS_VARIABLE] ?? 0) }, (_, index) => FIRST_LISTENER + index);
  }

  /** Registers what this process reports about itself. */
  report(readers: Readers): void {
    this.#readers = readers;
  }

  ready(url: string): void {
    this.#send({ kind: 'ready', url });
  }

  /** Resolves when the primary has the message, or has ended. */
  failed(description: string, exitCode: number): Promise<void> {
    return this.#sent({ kind: 'failed', description, exitCode });
  }

  /** Sends the counters of this process for the last time. */
  async final(): Promise<void> {
    const metrics = await this.#readers?.metrics().catch(() => undefined);
    if (metrics) await this.#sent({ kind: 'final', metrics });
  }

  /** The report of the whole group; undefined if the primary does not respond. */
  ask<Name extends ReportName>(what: Name): Promise<GroupReports[Name] | undefined> {
    const ask = (id: number) => this.#send({ kind: 'askGroup', id, what });
    return this.#questions.ask(RESPONSE_WITHIN_MS, ask) as Promise<GroupReports[Name] | undefined>;
  }

  #receive(message: FromPrimary): void {
    if (message.kind === 'drain') this.#drain();
    else if (message.kind === 'groupReport') this.#questions.end(message.id, message.value);
    else if (message.kind === 'askMember') void this.#respond(message);
  }

  async #respond({ id, what }: Extract<FromPrimary, { kind: 'askMember' }>): Promise<void> {
    const value = await this.#readers?.[what]().catch(() => undefined);
    if (value !== undefined) this.#send({ kind: 'report', id, value });
  }

  #send(message: FromMember): void {
    void this.#sent(message);
  }

  /** A primary that has ended is noticed by `disconnect`. */
  #sent(message: FromMember): Promise<void> {
    return new Promise((resolve) => {
      if (!process.connected) resolve();
      else process.send!(message, undefined, undefined, () => resolve());
    });
  }
}

/** Questions of one process to others. The response to one that was not answered in time is undefined. */
export class Questions<Response> {
  readonly #waiting = new Map<number, (response: Response | undefined) => void>();
  #asked = 0;

  /** @param send sends the question with this id, under which the response returns */
  ask(withinMs: number, send: (id: number) => void): Promise<Response | undefined> {
    const id = ++this.#asked;
    const { promise, resolve } = Promise.withResolvers<Response | undefined>();
    const timer = setTimeout(resolve, withinMs, undefined);
    this.#waiting.set(id, resolve);
    send(id);
    return promise.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(id);
    });
  }

  end(id: number, response: Response): void {
    this.#waiting.get(id)?.(response);
  }
}

/**
 * What the primary and the gateway processes of one group tell each other. Both run the same version, except during a
 * replacement after an update: then a member that is missing or unknown is ignored.
 */
export interface HealthReport {
  readonly readiness: Readiness;
  /** The statistics of each switch, by name. */
  readonly switches: Readonly<Record<string, unknown>>;
}

/** What a process reports about itself when the primary asks. */
export interface MemberReports {
  readonly metrics: readonly MetricValues[];
  readonly health: HealthReport;
}

/** The response of the primary for the whole group. */
export interface GroupReports {
  /** Metrics in the text format of Prometheus. */
  readonly metrics: string;
  readonly health: HealthReport;
}

export type ReportName = keyof MemberReports;

export type FromMember =
  | { readonly kind: 'ready'; readonly url: string }
  /** The start failed: for a person. */
  | { readonly kind: 'failed'; readonly description: string; readonly exitCode: number }
  | { readonly kind: 'alive' }
  /** The last figures, before the process ends. */
  | { readonly kind: 'final'; readonly metrics: readonly MetricValues[] }
  | { readonly kind: 'report'; readonly id: number; readonly value: MemberReports[ReportName] }
  | { readonly kind: 'askGroup'; readonly id: number; readonly what: ReportName };

export type FromPrimary =
  | { readonly kind: 'drain' }
  | { readonly kind: 'askMember'; readonly id: number; readonly what: ReportName }
  | { readonly kind: 'groupReport'; readonly id: number; readonly value: GroupReports[ReportName] };

/** What probes and scrapes see: of this process, or of its whole group. */
export interface Shown {
  readonly checks: {
    readiness(): Promise<Readiness>;
    switchStats(): Promise<Readonly<Record<string, unknown>>>;
  };
  readonly metrics: { text(): Promise<string> };
}

/**
 * A load balancer and Prometheus know one address, so each response speaks for all processes behind it. If the primary
 * does not respond, the response speaks for this process alone.
 */
export function shownFor(siblings: Siblings | undefined, health: Health, metrics: Metrics): Shown {
  const own = { readiness: () => health.readiness(), switchStats: async () => health.switchStats() };
  if (!siblings) return { checks: own, metrics };
  siblings.report({
    metrics: () => metricsOf(metrics.registry),
    health: async () => ({ readiness: await own.readiness(), switches: await own.switchStats() }),
  });
  return {
    checks: {
      readiness: async () => (await siblings.ask('health'))?.readiness ?? own.readiness(),
      switchStats: async () => (await siblings.ask('health'))?.switches ?? own.switchStats(),
    },
    metrics: { text: async () => (await siblings.ask('metrics')) ?? metrics.text() },
  };
}
