import type { JobPayloads } from '../../../schemas/jobs.ts';
import { TapwireError } from '../../../src/basics/errors.ts';
import { dispositionName } from '../../../src/payments/model/disposition.ts';
import type { Transaction } from '../../../src/payments/model/transaction.ts';
import type { TransactionDependencies } from '../../../src/payments/ports/transaction-dependencies.ts';
import { createUseCases } from '../../../src/payments/use-cases.ts';
import type { HonestSwitch } from '../honest/honest-switch.ts';
import { MemoryCompletions } from '../memory-completions.ts';
import { MemoryLinks } from '../memory-links.ts';
import { MemoryStore, type Sabotage } from '../memory-store.ts';
import { Ledger } from '../switch/ledger.ts';
import type { SentRequest } from '../switch/sent-request.ts';
import type { Statement } from '../switch/statements.ts';
import type { Deviation, EffectKind, SeenEffect } from './deviations.ts';
import { exploredDependencies } from './explored-dependencies.ts';
import { ExploredProcess } from './explored-process.ts';
import { EXPLORED_PROFILE } from './explored-profile.ts';
import { dueMs, firstOf, workOn } from './jobs.ts';
import { compare } from './order.ts';
import { Task, type Use } from './task.ts';
import { lookUp, type UnmatchedInTransit } from './unmatched.ts';

/** The client action that voids the sale. */
export const VOID = 'the merchant voids the sale';
const BEGINS_AT_MS = Date.parse('2026-03-01T10:00:00Z');
/** Jobs that follow each other without a pause: more are a loop. */
const MAX_JOBS_AT_ONCE = 40;

/** The response to a client. */
export interface ReportedOutcome {
  readonly transactionId: string;
  readonly attempt: number;
  /** Null: a PIN is required. */
  readonly disposition: string | null;
}

/** A message that waits for its response in a live process. */
export interface Waiting {
  readonly task: Task;
  readonly deadlineAtMs: number;
  readonly end: (response: { readonly response: 'none' | 'closed' | object }) => void;
}

/** One history of a small installation: two processes, a database, a switch. Only the given events happen in it. */
export class Execution {
  readonly time = { nowMs: BEGINS_AT_MS };
  readonly store: MemoryStore;
  readonly links: MemoryLinks;
  readonly completions: MemoryCompletions;
  readonly ledger = new Ledger();
  readonly requests: SentRequest[] = [];
  readonly waiting = new Map<number, Waiting>();
  readonly statements: Statement[] = [];
  readonly tasks = new Set<Task>();
  readonly parked: { readonly task: Task; readonly what: string; sinceMs: number; readonly go: () => void }[] = [];
  readonly moved: { readonly task: Task; readonly untilMs: number; readonly go: () => void }[] = [];
  unmatchedResponses: UnmatchedInTransit[] = [];
  readonly reported: ReportedOutcome[] = [];
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
  /** The last STAN in each scope. */
  readonly stans = new Map<string, number>();
  /** The switch, if it has rules of its own and never lies. */
  readonly honest: HonestSwitch | undefined;
  #deviations: ReadonlyMap<number, Deviation> = new Map();

  /** Whether its story is recorded. */
  readonly isTold: boolean;

  /** Whether a client of the case may ask for a void. */
  readonly #hasVoids: boolean;
  /** Whether responses that can no longer have an effect are left out. */
  readonly isReduced: boolean;

  constructor({
    isTold = false,
    hasVoids = true,
    isReduced = true,
    sabotage = undefined as Sabotage | undefined,
    honest = undefined as HonestSwitch | undefined,
  } = {}) {
    this.isTold = isTold;
    this.#hasVoids = hasVoids;
    this.honest = honest;
    this.isReduced = isReduced && !honest;
    this.processes = [new ExploredProcess('A', 1, -60_000), new ExploredProcess('B', 1, 60_000)];
    this.store = new MemoryStore(this.time, () => this.newId('job'), sabotage);
    this.links = new MemoryLinks(this.store, this.time);
    this.completions = new MemoryCompletions(this.store, this.time);
  }

  processNamed(name: string): ExploredProcess {
    return this.processes.find((process) => process.name === name)!;
  }

  /** Whether a void of the sale may still be asked for, or may be about to be stored. */
  get mayBeVoided(): boolean {
    if (!this.#hasVoids) return false;
    return (
      !this.clientsDone.has(VOID) ||
      [...this.tasks].some(({ name }) => name === 'void') ||
      this.parked.some(({ task }) => task.name === 'void')
    );
  }

  get isStill(): boolean {
    return this.tasks.size === 0 && this.parked.length === 0;
  }

  /** The same once more, to go on differently. What is under way in it runs again, up to where it is. */
  async fork(): Promise<Execution> {
    const copy = new Execution({
      hasVoids: this.#hasVoids,
      isTold: this.isTold,
      isReduced: this.isReduced,
      sabotage: this.store.sabotage,
      honest: this.honest?.copy(),
    });
    copy.time.nowMs = this.time.nowMs;
    this.store.copyTo(copy.store);
    this.links.copyTo(copy.links);
    this.ledger.copyTo(copy.ledger);
    for (const request of this.requests) copy.requests.push({ ...request });
    for (const statement of this.statements) copy.statements.push({ ...statement });
    copy.unmatchedResponses = [...this.unmatchedResponses];
    copy.reported.push(...this.reported);
    copy.events.push(...this.events);
    for (const id of this.alarms) copy.alarms.add(id);
    for (const name of this.clientsDone) copy.clientsDone.add(name);
    copy.faults.push(...this.faults);
    for (const [name, count] of this.ids) copy.ids.set(name, count);
    copy.processes = this.processes.map((process) => process.copy());
    for (const [scope, stan] of this.stans) copy.stans.set(scope, stan);
    copy.hadFaults = this.hadFaults;
    copy.isKeyLost = this.isKeyLost;
    copy.effects = this.effects;
    if (!this.isStill) await this.#copyTasks(copy);
    return copy;
  }

  async #copyTasks(copy: Execution): Promise<void> {
    const parked = this.parked.map(({ task }) => task).filter((task) => !this.tasks.has(task));
    for (const task of [...this.tasks, ...parked]) {
      const process = task.process.isAlive ? copy.processNamed(task.process.name) : task.process.copy();
      const again = task.copyTo(copy, process);
      if (this.tasks.has(task)) copy.tasks.add(again);
      copy.#run(again);
    }
    await settled();
    // What is parked registers again in the order of the tasks.
    const order = this.parked.map(({ task, what }) => `${task.name} ${what}`);
    const sinceMs = this.parked.map((each) => each.sinceMs);
    copy.parked.sort((one, other) => indexIn(order, one) - indexIn(order, other));
    for (const [index, each] of copy.parked.entries()) each.sinceMs = sinceMs[index]!;
  }

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
    this.parked.push({ task, what, sinceMs: this.time.nowMs, go });
  }

  kill(process: ExploredProcess): void {
    if (!process.isAlive) return;
    process.isAlive = false;
    this.hadFaults = true;
    this.tell(`    ${process.name} dies`);
    const isOfIt = ({ task }: { task: Task }) => task.process === process;
    for (const [number, waiting] of this.waiting) if (isOfIt(waiting)) this.waiting.delete(number);
    for (const task of this.tasks) if (task.process === process) this.tasks.delete(task);
    if (this.isReduced)
      this.unmatchedResponses = this.unmatchedResponses.filter((each) => each.process !== process.name);
    // A commit that hangs may be on its way all the same.
    this.processes = this.processes.map((each) => (each === process ? process.successor() : each));
  }

  afterCommit(): void {
    this.#wake();
  }

  /** @returns whether anything was woken */
  #wake(): boolean {
    const moved = this.moved.splice(0).sort((one, other) => compare(one.task.name, other.task.name));
    for (const { go } of moved) go();
    return moved.length > 0;
  }

  /** Numbers count in the scope of the profile, as in the gateway. */
  nextStan(acquirerId: number, tid: string | null): string {
    const scope = EXPLORED_PROFILE.stanScope === 'terminal' ? `${acquirerId} ${tid}` : String(acquirerId);
    const stan = (this.stans.get(scope) ?? 0) + 1;
    this.stans.set(scope, stan);
    return String(stan).padStart(6, '0');
  }

  newId(name: string): string {
    const count = (this.ids.get(name) ?? 0) + 1;
    this.ids.set(name, count);
    return `${name}.${count}`;
  }

  /** Begins a call of a use case; what it throws ends it. */
  begin(name: string, process: ExploredProcess, use: Use): void {
    const task = new Task(name, process, use, this);
    this.tasks.add(task);
    this.#run(task);
  }

  #run(task: Task): void {
    const { name } = task;
    const end = () => void this.tasks.delete(task);
    task.use(exploredDependencies(this, task), task, this).then(end, (error: unknown) => {
      this.tell(`    ${name}: ${error instanceof Error ? error.message : String(error)}`);
      if (!(error instanceof TapwireError)) this.faults.push(`${name} throws ${String(error)}`);
      end();
    });
  }

  /** The client gets its response, unless it has disconnected. */
  respondToClient(deps: TransactionDependencies, task: Task, transaction: Transaction): void {
    if (task.isGone) return;
    const isGone = task.recall('response of the client', () => {
      const deviates = this.meet('tell', `${task.name}: response`) !== undefined;
      if (!deviates) this.noteTold(transaction);
      return deviates;
    });
    createUseCases(deps).outcomes.recordResponse(transaction, !isGone);
  }

  noteTold({ id: transactionId, attempt, disposition }: Transaction): void {
    const name = disposition === null ? null : dispositionName(disposition);
    this.reported.push({ transactionId, attempt, disposition: name });
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
    const overdue = [...this.waiting].filter(([, { deadlineAtMs }]) => deadlineAtMs <= nextMs);
    for (const [, { end }] of overdue.sort(([one], [other]) => one - other)) end({ response: 'none' });
    if (this.#wake() || overdue.length > 0) await this.settle();
    const unmatchedResponses = this.unmatchedResponses.filter(({ atMs }) => atMs <= nextMs);
    this.unmatchedResponses = this.unmatchedResponses.filter(({ atMs }) => atMs > nextMs);
    for (const unmatched of unmatchedResponses.sort(
      (one, other) => one.atMs - other.atMs || compare(one.name, other.name),
    )) {
      lookUp(this, unmatched);
      await this.settle();
    }
    for (let done = 0; process.isAlive; done++) {
      const job = firstOf([...this.store.jobs.values()].filter((each) => dueMs(each) <= nextMs));
      if (!job) break;
      if (done === MAX_JOBS_AT_ONCE) throw new Error(`Jobs follow one another without a pause: ${job.request.queue}`);
      workOn(this, process, job);
      await this.settle();
    }
  }
}

function indexIn(order: readonly string[], { task, what }: Execution['parked'][number]): number {
  return order.indexOf(`${task.name} ${what}`);
}

/** Resolves when every promise that could settle has: a turn of the event loop comes only after all of them. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
