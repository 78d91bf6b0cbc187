import type { JobPayloads } from '../../../schemas/jobs.ts';
import { TapwireError } from '../../../src/errors.ts';
import { dispositionName } from '../../../src/transactions/model/disposition.ts';
import type { Transaction } from '../../../src/transactions/model/transaction.ts';
import type { TransactionDependencies } from '../../../src/transactions/ports/transaction-dependencies.ts';
import { recordAnswer } from '../../../src/transactions/reversal/overdue.ts';
import { sendReversal } from '../../../src/transactions/reversal/reverse.ts';
import { MemoryCompletions } from '../memory-completions.ts';
import { MemoryLinks } from '../memory-links.ts';
import type { Job } from '../memory-rows.ts';
import { MemoryStore } from '../memory-store.ts';
import { simulatedDependencies } from '../simulated-dependencies.ts';
import { Ledger } from '../switch/ledger.ts';
import type { SentRequest } from '../switch/sent-request.ts';
import type { Statement } from '../switch/statements.ts';
import type { Deviation, EffectKind, SeenEffect } from './deviations.ts';
import { ExploredProcess } from './explored-process.ts';
import { exploredSwitches } from './explored-switch.ts';
import { workOn } from './jobs.ts';
import { Task, type TaskHost } from './task.ts';
import { lookUp, type Stray } from './unmatched.ts';

/** How long a phone may take for a PIN. */
const PIN_SECONDS = 30;
const BEGINS_AT_MS = Date.parse('2026-03-01T10:00:00Z');
/** Jobs that follow each other without a pause: more are a loop. */
const MOST_JOBS_AT_ONCE = 40;

/** The response to a client. */
export interface Told {
  readonly transactionId: string;
  readonly attempt: number;
  /** Null: a PIN is required. */
  readonly disposition: string | null;
}

/** A message that waits for its response in a live process. */
export interface Waiting {
  readonly task: Task;
  readonly deadlineAtMs: number;
  readonly end: (answer: { readonly response: 'none' | 'closed' } | { readonly response: object }) => void;
}

/** One history of a small installation: two processes, a database, a switch. Only the given events happen in it. */
export class Execution implements TaskHost {
  readonly time = { nowMs: BEGINS_AT_MS };
  readonly store: MemoryStore;
  readonly links: MemoryLinks;
  readonly completions: MemoryCompletions;
  readonly ledger = new Ledger();
  readonly requests: SentRequest[] = [];
  readonly waiting = new Map<number, Waiting>();
  readonly statements: Statement[] = [];
  readonly tasks = new Set<Task>();
  readonly parked: { readonly task: Task; readonly what: string; readonly go: () => void }[] = [];
  readonly moved: { readonly untilMs: number; readonly go: () => void }[] = [];
  unmatchedResponses: Stray[] = [];
  readonly told: Told[] = [];
  readonly events: NonNullable<JobPayloads['webhook']['outcome']>[] = [];
  readonly alarms = new Set<string>();
  readonly clientsDone = new Set<string>();
  readonly faults: string[] = [];
  readonly ids = new Map<string, number>();
  /** The events, for people. */
  readonly story: string[] = [];
  processes: ExploredProcess[];
  effects: SeenEffect[] = [];
  /** While true, reversals cannot be built. */
  isKeyLost = false;
  /** A process has died, or an effect failed. */
  hadFaults = false;
  stans = 0;
  #deviations: ReadonlyMap<number, Deviation> = new Map();

  /** Whether its story is recorded. */
  readonly isTold: boolean;

  constructor({ isTold = false } = {}) {
    this.isTold = isTold;
    this.processes = [new ExploredProcess('A', 1, -60_000), new ExploredProcess('B', 1, 60_000)];
    this.store = new MemoryStore(this.time, () => this.newId('job'));
    this.links = new MemoryLinks(this.store, this.time);
    this.completions = new MemoryCompletions(this.store, this.time);
  }

  processNamed(name: string): ExploredProcess {
    return this.processes.find((process) => process.name === name)!;
  }

  /** Whether no call is in progress, so that it can be copied. */
  get isStill(): boolean {
    return this.tasks.size === 0 && this.parked.length === 0;
  }

  /** A copy that can continue differently; only while it is still. */
  copy(): Execution {
    const copy = new Execution();
    copy.time.nowMs = this.time.nowMs;
    this.store.copyTo(copy.store);
    this.ledger.copyTo(copy.ledger);
    copy.requests.push(...this.requests.map((request) => ({ ...request })));
    const statements = new Map(this.statements.map((statement) => [statement, { ...statement }]));
    copy.statements.push(...statements.values());
    copy.unmatchedResponses = this.unmatchedResponses.map((unmatched) => ({
      ...unmatched,
      statement: statements.get(unmatched.statement)!,
    }));
    copy.told.push(...this.told);
    copy.events.push(...this.events);
    for (const id of this.alarms) copy.alarms.add(id);
    for (const name of this.clientsDone) copy.clientsDone.add(name);
    copy.faults.push(...this.faults);
    for (const [name, count] of this.ids) copy.ids.set(name, count);
    copy.processes = this.processes.map((process) => process.copy());
    copy.stans = this.stans;
    copy.hadFaults = this.hadFaults;
    copy.isKeyLost = this.isKeyLost;
    copy.effects = this.effects;
    return copy;
  }

  /** Begins the next step: its effects are counted from here, and the given ones deviate. */
  beginStep(deviations: ReadonlyMap<number, Deviation>): void {
    this.effects = [];
    this.#deviations = deviations;
  }

  tell(what: string): void {
    if (this.isTold) this.story.push(what);
  }

  meet(kind: EffectKind, what: string): Deviation | undefined {
    const index = this.effects.length;
    this.effects.push({ index, kind, what });
    const deviation = this.#deviations.get(index);
    if (deviation !== undefined) this.hadFaults = true;
    this.tell(`    ${what}${deviation === undefined ? '' : ` ${deviation.toUpperCase()}`}`);
    return deviation;
  }

  park(task: Task, what: string, go: () => void): void {
    this.parked.push({ task, what, go });
  }

  kill(process: ExploredProcess): void {
    if (!process.isAlive) return;
    process.isAlive = false;
    this.hadFaults = true;
    this.tell(`    ${process.name} dies`);
    const isOfIt = ({ task }: { task: Task }) => task.process === process;
    for (const [number, waiting] of this.waiting) if (isOfIt(waiting)) this.waiting.delete(number);
    for (const task of this.tasks) if (task.process === process) this.tasks.delete(task);
    // A commit that hangs may still be executed.
    this.processes = this.processes.map((each) => (each === process ? process.successor() : each));
  }

  afterCommit(): void {
    for (const { go } of this.moved.splice(0)) go();
  }

  newId(name: string): string {
    const count = (this.ids.get(name) ?? 0) + 1;
    this.ids.set(name, count);
    return `${name}.${count}`;
  }

  /** Begins a call of a use case; an error that it throws ends it. */
  begin(
    name: string,
    process: ExploredProcess,
    use: (deps: TransactionDependencies, task: Task) => Promise<void>,
  ): void {
    const task = new Task(name, process, this);
    this.tasks.add(task);
    const end = () => void this.tasks.delete(task);
    use(this.depsOf(task), task).then(end, (error: unknown) => {
      this.tell(`    ${name}: ${error instanceof Error ? error.message : String(error)}`);
      if (!(error instanceof TapwireError)) this.faults.push(`${name} throws ${String(error)}`);
      end();
    });
  }

  depsOf(task: Task): TransactionDependencies {
    const { process } = task;
    return simulatedDependencies({
      effects: task,
      store: this.store,
      links: this.links,
      completions: this.completions,
      clock: {
        nowMs: () => this.time.nowMs + process.wallOffsetMs,
        monotonicMs: () => this.time.nowMs,
      },
      newId: () => this.newId(task.name),
      pinSeconds: PIN_SECONDS,
      moved: (_key, timeoutMs) =>
        new Promise((resolve) => this.moved.push({ untilMs: this.time.nowMs + timeoutMs, go: resolve })),
      originals: process.originals,
      alarms: { needsReview: ({ id }) => void this.alarms.add(id) },
      reverseAhead: (asked, jobId) =>
        this.begin(`${task.name} reverses ahead`, process, async (deps) => {
          await sendReversal(deps, asked, jobId);
        }),
      switches: exploredSwitches(this, task),
      isKeyLost: () => this.isKeyLost,
    });
  }

  /** The client gets its response, unless it has disconnected. */
  answerClient(deps: TransactionDependencies, task: Task, transaction: Transaction): void {
    if (!task.process.isAlive) return;
    const isGone = this.meet('tell', `${task.name}: answer`) !== undefined;
    if (!isGone) this.noteTold(transaction);
    recordAnswer(deps, transaction, !isGone);
  }

  noteTold({ id: transactionId, attempt, disposition }: Transaction): void {
    const name = disposition === null ? null : dispositionName(disposition);
    this.told.push({ transactionId, attempt, disposition: name });
    this.tell(`    the client gets a response about ${transactionId}: ${name ?? 'a PIN is required'}`);
  }

  /** Executes everything that can happen without time or the switch. Events are delivered immediately. */
  async settle(): Promise<void> {
    await settled();
    for (const { id, request } of [...this.store.jobs.values()]) {
      if (request.queue !== 'webhook') continue;
      this.store.jobs.delete(id);
      this.events.push(request.data.outcome!);
    }
    for (const id of this.store.restless()) this.faults.push(`${id} rests where it must not`);
  }

  /** The next time at which something is due; undefined if nothing is. */
  nextMs(): number | undefined {
    const due = [
      ...[...this.store.jobs.values()].map(dueMs),
      ...[...this.waiting.values()].map(({ deadlineAtMs }) => deadlineAtMs),
      ...this.unmatchedResponses.map(({ atMs }) => atMs),
    ];
    const moments = due.length > 0 ? due : this.moved.map(({ untilMs }) => untilMs);
    return moments.length > 0 ? Math.max(Math.min(...moments), this.time.nowMs) : undefined;
  }

  /** Time passes until something is due; `process` runs the jobs. */
  async pass(process: ExploredProcess): Promise<void> {
    const nextMs = this.nextMs();
    if (nextMs === undefined) return;
    if (nextMs > this.time.nowMs) this.tell(`    ${(nextMs - this.time.nowMs) / 1_000} s pass`);
    this.time.nowMs = nextMs;
    for (const { deadlineAtMs, end } of [...this.waiting.values()])
      if (deadlineAtMs <= nextMs) end({ response: 'none' });
    for (const { go } of this.moved.splice(0)) go();
    await this.settle();
    const unmatchedResponses = this.unmatchedResponses.filter(({ atMs }) => atMs <= nextMs);
    this.unmatchedResponses = this.unmatchedResponses.filter(({ atMs }) => atMs > nextMs);
    for (const unmatched of unmatchedResponses) {
      lookUp(this, unmatched);
      await this.settle();
    }
    for (let done = 0; process.isAlive; done++) {
      const job = [...this.store.jobs.values()].find((each) => dueMs(each) <= nextMs);
      if (!job) break;
      if (done === MOST_JOBS_AT_ONCE) throw new Error(`Jobs follow one another without a pause: ${job.request.queue}`);
      workOn(this, process, job);
      await this.settle();
    }
  }
}

function dueMs({ startAtMs, heldUntilMs }: Job): number {
  return Math.max(startAtMs, heldUntilMs);
}

/** Resolves when every promise that could settle has: a turn of the event loop comes only after all of them. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
