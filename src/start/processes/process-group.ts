import type { Worker } from 'node:cluster';
import cluster from 'node:cluster';
import type { BoundSocket } from 'node:net';
import { StartError } from '../../basics/errors.ts';
import { mergeReadiness, mergeSwitches } from '../../observe/health.ts';
import type { Log } from '../../observe/log.ts';
import { addDeparted, type MetricValues, mergeMetrics } from '../../observe/metrics/merge-metrics.ts';
import {
  ALIVE_EVERY_MS,
  DRAINED_WITHIN_MS,
  type FromMember,
  type FromPrimary,
  type GroupReports,
  type HealthReport,
  LISTENERS_VARIABLE,
  type MemberReports,
  NUMBER_VARIABLE,
  Questions,
  type ReportName,
} from './siblings.ts';

/**
 * A process that does not respond within this time is left out of the health report, and its last metrics are used.
 * Probes wait for one second by default.
 */
const RESPONSE_WITHIN_MS: Readonly<Record<ReportName, number>> = { health: 500, metrics: 2_000 };

interface Reporting {
  readonly number: number;
  readonly worker: Worker;
  readonly state: 'starting' | 'ready' | 'draining';
}

type FromReporting = Extract<FromMember, { kind: 'final' | 'report' | 'askGroup' }>;

/** Collects what the processes of a group report about themselves, for a scrape or probe that one of them received. */
export class GroupReporter {
  readonly #members: () => readonly Reporting[];
  readonly #questions = new Questions<MemberReports[ReportName]>();
  readonly #lastMetrics = new Map<Reporting, readonly MetricValues[]>();
  #departed: readonly MetricValues[] = [];

  constructor(members: () => readonly Reporting[]) {
    this.#members = members;
  }

  receive(member: Reporting, message: FromReporting): void {
    if (message.kind === 'final') this.#lastMetrics.set(member, message.metrics);
    else if (message.kind === 'report') this.#questions.end(message.id, message.value);
    else void this.#respond(member, message);
  }

  /** The counters of an ended process remain in the sums. */
  async forget(member: Reporting): Promise<void> {
    const last = this.#lastMetrics.get(member);
    this.#lastMetrics.delete(member);
    if (last) this.#departed = await addDeparted(this.#departed, last);
  }

  async #respond({ worker }: Reporting, { id, what }: Extract<FromMember, { kind: 'askGroup' }>): Promise<void> {
    const value = what === 'metrics' ? await this.#metrics() : await this.#health();
    if (value !== undefined) send(worker, { kind: 'groupReport', id, value });
  }

  async #metrics(): Promise<GroupReports['metrics']> {
    const members = this.#members().filter(({ state }) => state !== 'starting');
    await Promise.all(
      members.map(async (member) => {
        const metrics = await this.#ask(member, 'metrics');
        if (metrics) this.#lastMetrics.set(member, metrics);
      }),
    );
    const parts = [...this.#lastMetrics].map(([{ number }, metrics]) => ({ process: number, metrics }));
    return mergeMetrics(parts, this.#departed).metrics();
  }

  async #health(): Promise<HealthReport | undefined> {
    const members = this.#members().filter(({ state }) => state === 'ready');
    const reports = (await Promise.all(members.map((member) => this.#ask(member, 'health')))).flatMap(
      (report) => report ?? [],
    );
    if (reports.length === 0) return undefined;
    return {
      readiness: mergeReadiness(reports.map(({ readiness }) => readiness)),
      switches: mergeSwitches(reports.map(({ switches }) => switches)),
    };
  }

  #ask<Name extends ReportName>({ worker }: Reporting, what: Name): Promise<MemberReports[Name] | undefined> {
    const ask = (id: number) => send(worker, { kind: 'askMember', id, what });
    return this.#questions.ask(RESPONSE_WITHIN_MS[what], ask) as Promise<MemberReports[Name] | undefined>;
  }
}

/** The exit of a process reports its end. */
function send(worker: Worker, message: FromPrimary): void {
  if (worker.isConnected()) worker.send(message, undefined, undefined, () => {});
}

/** A process that has run for this long was sound: its end says nothing about the next one. */
const SOUND_AFTER_MS = 60_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
/**
 * After nine short lives in a row, of which the delays alone take two minutes, another start cures nothing. The whole group then ends, because the
 * program above it (Kubernetes, systemd, Docker) shows a crash loop to people and starts it again later.
 */
export const MAX_SHORT_LIVES = 8;

/** Decides when a process that has ended unexpectedly is replaced. */
export class RestartPolicy {
  #shortLives = 0;

  /** @returns the delay before the replacement starts, or `giveUp` */
  onEnd(livedMs: number): number | 'giveUp' {
    if (livedMs >= SOUND_AFTER_MS) {
      this.#shortLives = 0;
      return 0;
    }
    this.#shortLives++;
    if (this.#shortLives > MAX_SHORT_LIVES) return 'giveUp';
    return Math.min(FIRST_DELAY_MS * 2 ** (this.#shortLives - 1), LONGEST_DELAY_MS);
  }
}

/** A process whose event loop has been blocked for half a minute serves no client. */
const MISSED_BEFORE_END = 6;
/** A start reads the directory and waits for two seconds at most. Ten times as long on a busy machine is a fault. */
const READY_WITHIN_MS = 60_000;

interface Member {
  readonly number: number;
  readonly worker: Worker;
  readonly startedAtMs: number;
  state: 'starting' | 'ready' | 'draining';
  missed: number;
}

/** How a process ended that was not asked to. */
interface Fault {
  readonly description: string;
  readonly exitCode: number;
}

/**
 * Every core has a process, so threads that copy new objects beside it only take time from another process, and new
 * objects have more room before they are copied (interleaved, two processes: 599 µs of processor time per tap instead
 * of 630, all parts of an installation together). Old objects are marked on another thread all the same: on the thread of
 * the process, a mark of 60 ms stopped all taps, and p99 at half load was 123 to 178 ms instead of 95 to 111.
 */
const MEMORY_OPTIONS = ['--no-parallel-scavenge', '--max-semi-space-size=64'];

/**
 * Several gateway processes behind one port. This process, the primary, binds the sockets on which they listen, so no
 * connection that waits to be accepted is lost when a process ends. It replaces processes that end, and ends itself when
 * that cures nothing. It opens no connection to a switch and handles no request.
 */
export class ProcessGroup {
  readonly #options;
  readonly #members = new Set<Member>();
  readonly #policy = new RestartPolicy();
  readonly #reporter: GroupReporter;
  readonly #watching: NodeJS.Timeout;
  /** Rejects when the group cannot continue. */
  readonly broken: Promise<never>;
  #break: (fault: StartError) => void = () => {};
  #replacing: Promise<void> | undefined;
  #isStarted = false;
  #isStopping = false;

  constructor(options: {
    /** The program of a process. */
    readonly program: string;
    readonly count: number;
    /** Bound sockets on which all processes listen. If there are none, this process accepts and passes connections. */
    readonly sockets: readonly BoundSocket[];
    /** Environment variables besides those of the primary. */
    readonly environment: NodeJS.ProcessEnv;
    readonly log: Log;
  }) {
    this.#options = options;
    this.#reporter = new GroupReporter(() => [...this.#members]);
    this.broken = new Promise((_resolve, reject) => {
      this.#break = reject;
    });
    this.broken.catch(() => {});
    const execArgv = [...process.execArgv, ...MEMORY_OPTIONS];
    const descriptors = options.sockets.map((socket) => socket.fd());
    const stdio = ['inherit', 'inherit', 'inherit', 'ipc', ...descriptors];
    cluster.setupPrimary({ exec: options.program, args: [], execArgv, stdio });
    this.#watching = setInterval(() => this.#watch(), ALIVE_EVERY_MS).unref();
  }

  /**
   * Resolves with the group's address when every process is ready, or at least this many. If the others cannot start,
   * the group tries again, as after their end.
   *
   * @throws StartError if one of the first cannot start; then none remains
   */
  async start(first = this.#options.count): Promise<string> {
    try {
      const numbers = Array.from({ length: this.#options.count }, (_, index) => index + 1);
      const [url] = await Promise.all(numbers.slice(0, first).map((number) => this.#start(number).ready));
      this.#isStarted = true;
      for (const number of numbers.slice(first)) this.#start(number);
      return url!;
    } catch (fault) {
      await this.stop();
      throw fault;
    }
  }

  /** The process ids of the processes that serve. */
  get pids(): number[] {
    return [...this.#members].flatMap(({ worker }) => worker.process.pid ?? []);
  }

  /**
   * Replaces the processes one by one: each only when its successor is ready. If a successor cannot start, the
   * remaining processes stay. Concurrent calls share one replacement.
   */
  replaceAll(): Promise<void> {
    this.#replacing ??= this.#replaceEach().finally(() => {
      this.#replacing = undefined;
    });
    return this.#replacing;
  }

  /** Drains all processes at once, so that the time of the slowest one is the time of the group. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#watching);
    for (const socket of this.#options.sockets) socket.close(); // those of the processes remain
    await Promise.all([...this.#members].map((member) => this.#drain(member)));
  }

  /** Ends every process now. */
  kill(): void {
    this.#isStopping = true;
    for (const { worker } of this.#members) worker.process.kill('SIGKILL');
  }

  #start(number: number): { readonly member: Member; readonly ready: Promise<string> } {
    const worker = cluster.fork({
      ...this.#options.environment,
      [NUMBER_VARIABLE]: `${number}`,
      [LISTENERS_VARIABLE]: `${this.#options.sockets.length}`,
    });
    const member: Member = { number, worker, startedAtMs: performance.now(), state: 'starting', missed: 0 };
    this.#members.add(member);
    let fault: Fault | undefined;
    const ready = new Promise<string>((resolve, reject) => {
      const timer = setTimeout(() => worker.process.kill('SIGKILL'), READY_WITHIN_MS);
      worker.on('message', (message: FromMember) => {
        if (message.kind === 'ready') {
          clearTimeout(timer);
          member.state = 'ready';
          resolve(message.url);
        } else if (message.kind === 'failed') fault = message;
        else this.#receive(member, message);
      });
      worker.once('exit', (code: number | null, signal: string | null) => {
        clearTimeout(timer);
        this.#members.delete(member);
        reject(startFault(fault, code, signal));
        void this.#reporter.forget(member);
        this.#onExit(member, { code, signal });
      });
      worker.on('error', () => {}); // the end of the process follows
    });
    ready.catch(() => {}); // a replacement that cannot start has ended, which is handled there
    return { member, ready };
  }

  #receive(member: Member, message: Exclude<FromMember, { kind: 'ready' | 'failed' }>): void {
    member.missed = 0;
    if (message.kind !== 'alive') this.#reporter.receive(member, message);
  }

  #onExit({ number, worker, startedAtMs, state }: Member, how: object): void {
    if (this.#isStopping || state === 'draining') return;
    // While the first processes start, `start` ends the group. While one is replaced, predecessor or successor remains.
    if (!this.#isStarted || this.#others(number) > 0) return;
    const { log } = this.#options;
    const delayMs = this.#policy.onEnd(performance.now() - startedAtMs);
    const about = { number, endedPid: worker.process.pid, ...how };
    if (delayMs === 'giveUp') {
      log.error(about, 'processes end again and again, the group ends');
      this.#break(new StartError('PROCESS_FAILED', 'The processes end again and again; the log has the reason.'));
      return;
    }
    log.error({ ...about, delayMs }, 'process ended unexpectedly, it is replaced');
    setTimeout(() => {
      if (!this.#isStopping)
        this.#start(number).ready.then(
          () => log.info({ number }, 'process replaced'),
          () => {},
        );
    }, delayMs);
  }

  /** The number of other processes with this number. */
  #others(number: number): number {
    return [...this.#members].filter((member) => member.number === number).length;
  }

  async #replaceEach(): Promise<void> {
    const { log } = this.#options;
    for (const old of [...this.#members].toSorted((one, other) => one.number - other.number)) {
      if (this.#isStopping || !this.#members.has(old)) continue;
      try {
        await this.#start(old.number).ready;
      } catch (error) {
        const { reason } = error as StartError;
        log.error({ reason, number: old.number }, 'successor cannot start, the remaining processes stay');
        return;
      }
      await this.#drain(old);
      log.info({ number: old.number }, 'process replaced');
    }
  }

  /** Resolves when the process has ended. */
  async #drain(member: Member): Promise<void> {
    const { worker } = member;
    member.state = 'draining';
    if (!this.#members.has(member)) return;
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    send(worker, { kind: 'drain' });
    const timer = setTimeout(() => worker.process.kill('SIGKILL'), DRAINED_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  }

  /** Ends a process whose event loop no longer runs. A frozen process can do no harm when it resumes, nor can its end. */
  #watch(): void {
    for (const member of this.#members) {
      if (member.state !== 'ready' || ++member.missed <= MISSED_BEFORE_END) continue;
      this.#options.log.error({ number: member.number }, 'process does not respond, it is ended');
      member.worker.process.kill('SIGKILL');
    }
  }
}

function startFault(fault: Fault | undefined, code: number | null, signal: string | null): StartError {
  if (fault) return new StartError('PROCESS_FAILED', fault.description);
  return new StartError('PROCESS_FAILED', `A process ended before it was ready (${signal ?? `exit code ${code}`}).`);
}
