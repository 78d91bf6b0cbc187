import type { JobPayloads } from '../../schemas/jobs.ts';
import { StoreUnavailable } from '../../src/basics/errors.ts';
import type { JobRequest } from '../../src/payments/model/decision.ts';
import { OriginalConnections } from '../../src/payments/model/switch-revision.ts';
import { OUTCOME_GRACE_SECONDS } from '../../src/payments/model/time-limits.ts';
import type { ReversalAttempt, TransactionStore } from '../../src/payments/ports/store-ports.ts';
import type { TakenStan } from '../../src/payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../../src/payments/ports/transaction-dependencies.ts';
import type { ReversalJobResult } from '../../src/payments/reversals/reversals.ts';
import { createUseCases, type UseCases } from '../../src/payments/use-cases.ts';
import type { Random } from '../../src/tools/simulator/faults.ts';
import { takenStan } from '../support/stans.ts';
import type { MemoryCompletions } from './memory-completions.ts';
import type { MemoryLinks } from './memory-links.ts';
import type { Job, OverdueRequest } from './memory-rows.ts';
import type { MemoryStore } from './memory-store.ts';
import { type Effects, simulatedDependencies } from './simulated-dependencies.ts';
import { SimulatedLine } from './simulated-line.ts';
import { DEADLINE_MS } from './simulated-tenant.ts';
import { hear, type Statement } from './switch/statements.ts';
import type { VirtualTime } from './virtual-time.ts';
import type { WildSwitch } from './wild-switch.ts';

export interface SharedWorld {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly store: MemoryStore;
  readonly links: MemoryLinks;
  readonly completions: MemoryCompletions;
  readonly switches: WildSwitch;
  readonly newId: () => string;
  /** Outcomes that were reported to the integrator, by the event's id. */
  readonly events: Map<string, NonNullable<JobPayloads['webhook']['outcome']>>;
  /** Transactions for which a person was called. */
  readonly alarms: Set<string>;
  /** Checked after every commit. */
  readonly onCommit: () => void;
  /** Called for each occurrence that is counted. */
  readonly onSeen: (what: string) => void;
  readonly tell: (what: string) => void;
  /** A use case has thrown an error that has no response for clients. */
  readonly onBug: (error: unknown) => void;
  readonly onDeath: (process: SimulatedProcess) => void;
}

/** After the death of a worker that holds a job: the time until another may take it. */
const CLAIM_LAPSES_MS: Partial<Record<string, number>> = {
  overdue: 15_000,
  'expire-pin': 15_000,
  reverse: 150_000,
  complete: 150_000,
  webhook: 60_000,
};

/** A few, so that processes reserve blocks often. */
const STANS_IN_BLOCK = 3;
/** How long the simulated phones may take for a PIN. */
export const PIN_SECONDS = 30;
/** Longer than a deadline and its grace: a process that resumes after it is late for everything. */
const LONGEST_FREEZE_MS = 20_000;
/** The caller gives up a commit that hangs for longer, and it may still be stored. */
const COMMIT_GIVEN_UP_MS = 10_000;
const LONGEST_HANG_MS = 60_000;
/** Clocks of nodes are up to two minutes apart: no clock of a process decides anything. */
const CLOCKS_APART_MS = 120_000;

/**
 * One gateway: the unchanged use cases, with effects that take time, may fail, and may be the last. Nothing of a killed
 * process continues; what it has written is still in transit.
 */
export class SimulatedProcess implements Effects {
  isAlive = true;
  readonly name: string;
  readonly deps: TransactionDependencies;
  readonly line: SimulatedLine;
  readonly #useCases: UseCases;
  readonly #shared: SharedWorld;
  readonly #wallOffsetMs: number;
  #stans: number[] = [];
  #frozenUntilMs = 0;
  #wakesAtMs = Number.POSITIVE_INFINITY;

  constructor(shared: SharedWorld, name: string) {
    this.#shared = shared;
    this.name = name;
    this.#wallOffsetMs = (shared.random.next() - 0.5) * CLOCKS_APART_MS;
    const { time, switches } = shared;
    this.line = new SimulatedLine({
      ...{ name, time, switches },
      worldHearing: (statement) => this.#hearing([statement]),
      isAlive: () => this.isAlive,
      nextStan: () => this.#nextStan(),
      moment: () => this.#moment(),
    });
    this.deps = this.#createWorld();
    this.#useCases = createUseCases(this.deps);
    this.wake();
  }

  kill(): void {
    if (!this.isAlive) return;
    this.#shared.tell(`${this.name} dies`);
    this.isAlive = false;
    this.#shared.onDeath(this);
  }

  /** There may be a job: polls when the first one is due. */
  wake(): void {
    const { time, store, random } = this.#shared;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const { startAtMs, heldUntilMs } of store.jobs.values())
      dueMs = Math.min(dueMs, Math.max(startAtMs, heldUntilMs));
    const atMs = Math.max(dueMs, time.nowMs) + random.next() * 500;
    if (!this.isAlive || !(atMs < this.#wakesAtMs)) return;
    this.#wakesAtMs = atMs;
    time.at(atMs, () => {
      if (this.#wakesAtMs !== atMs || !this.isAlive) return;
      this.#wakesAtMs = Number.POSITIVE_INFINITY;
      for (const job of [...store.jobs.values()]) {
        if (Math.max(job.startAtMs, job.heldUntilMs) <= time.nowMs) void this.#work(job);
      }
      this.wake();
    });
  }

  async #work(job: Job): Promise<void> {
    const { time, store, onBug } = this.#shared;
    job.heldUntilMs = time.nowMs + CLAIM_LAPSES_MS[job.request.queue]!;
    try {
      if (job.request.queue === 'overdue') {
        const decided = await this.#decideOverdue(job.request.data);
        await this.commit('endOverdue', () => store.endOverdue(job, decided));
        return;
      }
      const result = await this.#handle(job.request);
      const again =
        result === 'done'
          ? undefined
          : {
              ...job.request,
              ...(result.payload && { data: result.payload }),
              id: undefined,
              startAfterSeconds: result.againAfterSeconds,
            };
      await this.commit('endJob', () => store.endJob(job.id, again as never));
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) onBug(error);
      job.heldUntilMs = time.nowMs + 1_000;
      this.wake();
    }
  }

  async #decideOverdue(attempt: OverdueRequest['data']) {
    const transaction = await this.deps.store.find(attempt);
    if (transaction?.attempt !== attempt.attempt) return 'rests';
    return this.#useCases.outcomes.decideOverdue(transaction);
  }

  async #handle(
    request: JobRequest,
  ): Promise<'done' | { readonly againAfterSeconds: number; readonly payload?: object }> {
    const { store, events } = this.#shared;
    switch (request.queue) {
      case 'expire-pin':
        return this.#useCases.pins.expire(request.data);
      case 'reverse':
        return this.#reverse(request.data);
      case 'complete':
        return this.#useCases.completions.send(request.data);
      case 'webhook':
        await this.commit('webhook', () => void events.set(request.data.eventId, request.data.outcome!));
        return 'done';
      default:
        throw new Error(`${request.queue} is not simulated, ${store.jobs.size} jobs wait`);
    }
  }

  #reverse(asked: ReversalAttempt, jobId?: string): Promise<ReversalJobResult> {
    const heard: Statement[] = [];
    const only = this.line.asSwitch((statement) => heard.push(statement));
    const path = { kind: 'direct', switches: { find: () => only } } as const;
    return createUseCases({ ...this.#hearing(heard), path }).reversals.send(asked, jobId);
  }

  /** Dependencies that mark statements as heard when they are stored, not when they are received. */
  #hearing(heard: readonly Statement[]): TransactionDependencies {
    const { store, time } = this.#shared;
    const noteStored = <T>(result: T): T => {
      if (result === true || result === 'recorded' || result === 'known')
        for (const statement of heard) hear(statement, time.nowMs);
      return result;
    };
    const hearingStore: TransactionStore = {
      ...this.deps.store,
      stepReversal: (step) => this.commit('stepReversal', () => noteStored(store.stepReversal(step))),
      recordLate: (record) => this.commit('recordLate', () => noteStored(store.recordLate(record))),
    };
    return { ...this.deps, store: hearingStore };
  }

  /** An effect begins or ends: the process may die here, or freeze for a while. */
  async #moment(): Promise<void> {
    const { switches, time, random } = this.#shared;
    if (switches.chance(0.01)) this.kill();
    if (switches.chance(0.005)) this.#freeze(random.next() * LONGEST_FREEZE_MS);
    if (this.#frozenUntilMs > time.nowMs) await time.pass(this.#frozenUntilMs - time.nowMs);
    if (!this.isAlive) await new Promise(() => {});
  }

  #freeze(forMs: number): void {
    this.#frozenUntilMs = this.#shared.time.nowMs + forMs;
    if (forMs > DEADLINE_MS + OUTCOME_GRACE_SECONDS * 1_000) this.#shared.onSeen('a process frozen past a deadline');
  }

  async read<T>(_what: string, read: () => T): Promise<T> {
    await this.#moment();
    await this.#shared.time.pass(1);
    if (this.#shared.switches.chance(0.01)) throw new StoreUnavailable(false);
    const result = read();
    await this.#moment();
    return result;
  }

  async commit<T>(what: string, write: () => T): Promise<T> {
    const { switches, time, random, onCommit, onSeen, tell } = this.#shared;
    await this.#moment();
    if (switches.chance(0.005)) return this.#hang(what, write);
    await time.pass(switches.chance(0.05) ? random.next() * 4_000 : 1 + random.next() * 4);
    if (switches.chance(0.01)) {
      tell(`${this.name}: ${what} fails`);
      throw new StoreUnavailable(false);
    }
    const isLost = switches.chance(0.01);
    if (isLost) onSeen('a commit without a response');
    if (isLost) tell(`${this.name}: ${what} receives no response`);
    if (isLost && random.next() < 0.5) throw new StoreUnavailable(true);
    const result = write();
    tell(`${this.name}: ${what} ${String(result)}`);
    onCommit();
    await this.#moment();
    if (isLost) throw new StoreUnavailable(true);
    return result;
  }

  /** The database receives a commit and does not respond: it may be stored at any time after it was given up. */
  async #hang<T>(what: string, write: () => T): Promise<T> {
    const { time, random, onCommit, onSeen, tell } = this.#shared;
    onSeen('a commit that hangs');
    tell(`${this.name}: ${what} hangs`);
    const hangsMs = random.next() * LONGEST_HANG_MS;
    const isStored = random.next() < 0.7;
    let result: T | undefined;
    time.after(hangsMs, () => {
      if (!isStored) return;
      result = write();
      tell(`${this.name}: ${what} ${String(result)}, after it hung`);
      onCommit();
    });
    await time.pass(Math.min(hangsMs, COMMIT_GIVEN_UP_MS));
    await this.#moment();
    if (!isStored || hangsMs >= COMMIT_GIVEN_UP_MS) throw new StoreUnavailable(true);
    return result as T;
  }

  #createWorld(): TransactionDependencies {
    const { time, store, links, completions, newId, alarms } = this.#shared;
    return simulatedDependencies({
      effects: this,
      ...{ store, links, completions, newId },
      clock: { nowMs: () => Math.round(time.nowMs + this.#wallOffsetMs), monotonicMs: () => time.nowMs },
      pinSeconds: PIN_SECONDS,
      moved: (_key, timeoutMs) => time.pass(timeoutMs),
      originals: new OriginalConnections(),
      alarms: { needsReview: ({ id }) => void alarms.add(id) },
      reverseAhead: (asked, jobId) => void this.#reverse(asked, jobId).catch(() => {}),
      switches: { find: () => this.line.asSwitch() },
    });
  }

  async #nextStan(): Promise<TakenStan> {
    if (this.#stans.length === 0) {
      const first = await this.commit('stans', () => this.#shared.store.takeStans(STANS_IN_BLOCK));
      this.#stans = Array.from({ length: STANS_IN_BLOCK }, (_, index) => first + index);
    }
    const stan = this.#stans.shift()!;
    return { ...takenStan(String(stan).padStart(6, '0')), putBack: () => void this.#stans.unshift(stan) };
  }
}
