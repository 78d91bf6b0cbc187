import type { JobPayloads } from '../../schemas/jobs.ts';
import { StoreUnavailable } from '../../src/errors.ts';
import type { Outcome, PinData } from '../../src/processor-kit/processor.ts';
import type { Random } from '../../src/simulator/random.ts';
import { expirePin } from '../../src/transactions/pin/expire-pin.ts';
import type { PinRequest } from '../../src/transactions/ports/pin-ports.ts';
import type {
  PreparedRequest,
  SendTiming,
  Switch,
  SwitchAnswer,
  SwitchSlot,
  TransactionStore,
} from '../../src/transactions/ports.ts';
import { settleStrays } from '../../src/transactions/reversal/late-response.ts';
import { OriginalConnections } from '../../src/transactions/reversal/original-connections.ts';
import { decideOverdue } from '../../src/transactions/reversal/overdue.ts';
import { sendReversal } from '../../src/transactions/reversal/reverse.ts';
import { OUTCOME_GRACE_SECONDS } from '../../src/transactions/time-limits.ts';
import type { World } from '../../src/transactions/world.ts';
import { MemoryRefunds } from './memory-refunds.ts';
import type { Job, MemoryStore } from './memory-store.ts';
import { DEADLINE_MS, DIRECTORY, KEPT, PROFILE, TAP } from './simulated-tenant.ts';
import type { Reply, RequestKind, UncertainSwitch } from './uncertain-switch.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface SharedWorld {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly store: MemoryStore;
  readonly switches: UncertainSwitch;
  readonly newId: () => string;
  /** Outcomes that the integrator was told of, by the event's id. */
  readonly events: Map<string, NonNullable<JobPayloads['webhook']['outcome']>>;
  /** Checked after every commit. */
  readonly onCommit: () => void;
  /** What is worth to be counted has come up. */
  readonly onSeen: (what: string) => void;
  /** A late answer whose connection is gone comes on another, to whoever has one. */
  readonly deliverElsewhere: (rrn: string, outcome: Outcome) => void;
}

/** A worker that holds a job dies: so long until another may have it. */
const CLAIM_LAPSES_MS: Partial<Record<string, number>> = {
  overdue: 15_000,
  'expire-pin': 15_000,
  reverse: 150_000,
  webhook: 60_000,
};

/** A few, so that processes take blocks often. */
const STANS_IN_BLOCK = 3;
/** How long the simulated phones may take for a PIN. */
export const PIN_SECONDS = 30;
/** Longer than a deadline and its grace: whoever wakes from it is late for everything. */
const LONGEST_FREEZE_MS = 20_000;

/**
 * One gateway: the use cases as they are, in a world where each effect takes time, may fail, and may be the last. Of a process
 * that was killed nothing runs on; what it has written is on its way all the same.
 */
export class SimulatedProcess {
  isAlive = true;
  readonly world: World;
  readonly #shared: SharedWorld;
  readonly name: string;
  readonly #wallOffsetMs: number;
  #connection = 1;
  #stans: number[] = [];
  #frozenUntilMs = 0;
  #wakesAtMs = Number.POSITIVE_INFINITY;

  constructor(shared: SharedWorld, name: string) {
    this.#shared = shared;
    this.name = name;
    this.#wallOffsetMs = (shared.random.next() - 0.5) * 4_000; // no clock of a process decides anything
    this.world = this.#createWorld();
    this.wake();
  }

  kill(): void {
    this.isAlive = false;
  }

  /** There may be a job: looks when the first one is due. */
  wake(): void {
    const { time, store, random } = this.#shared;
    const due = [...store.jobs.values()].map(({ startAtMs, heldUntilMs }) => Math.max(startAtMs, heldUntilMs));
    const atMs = Math.max(Math.min(...due), time.nowMs) + random.next() * 500;
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
    const { time, store } = this.#shared;
    job.heldUntilMs = time.nowMs + CLAIM_LAPSES_MS[job.request.queue]!;
    try {
      const result = await this.#handle(job);
      const again =
        result === 'done' ? undefined : { ...job.request, id: undefined, startAfterSeconds: result.againAfterSeconds };
      await this.#commit(() => store.endJob(job.id, again as never));
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      job.heldUntilMs = time.nowMs + 1_000;
      this.wake();
    }
  }

  async #handle({ request }: Job): Promise<'done' | { readonly againAfterSeconds: number }> {
    const { store, events } = this.#shared;
    switch (request.queue) {
      case 'overdue': {
        const transaction = await this.world.store.find(request.data);
        if (transaction?.attempt !== request.data.attempt) return 'done';
        return (await decideOverdue(this.world, transaction)) === 'decided' ? 'done' : { againAfterSeconds: 1 };
      }
      case 'expire-pin':
        return expirePin(this.world, request.data);
      case 'reverse':
        return sendReversal(this.world, request.data);
      case 'webhook':
        await this.#commit(() => void events.set(request.data.eventId, request.data.outcome!));
        return 'done';
      default:
        throw new Error(`${request.queue} is not simulated, ${store.jobs.size} jobs wait`);
    }
  }

  /** An effect begins or ends: the process may die here, or stand still for a while. */
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

  async #read<T>(read: () => T): Promise<T> {
    await this.#moment();
    await this.#shared.time.pass(1);
    if (this.#shared.switches.chance(0.01)) throw new StoreUnavailable(false);
    const result = read();
    await this.#moment();
    return result;
  }

  async #commit<T>(write: () => T): Promise<T> {
    const { switches, time, random, onCommit } = this.#shared;
    await this.#moment();
    await time.pass(switches.chance(0.05) ? random.next() * 4_000 : 1 + random.next() * 4);
    if (switches.chance(0.01)) throw new StoreUnavailable(false);
    const isLost = switches.chance(0.01);
    if (isLost && random.next() < 0.5) throw new StoreUnavailable(true);
    const result = write();
    onCommit();
    await this.#moment();
    if (isLost) throw new StoreUnavailable(true);
    return result;
  }

  #createWorld(): World {
    const { time, store, newId } = this.#shared;
    // No links here: what only they ask for is left out.
    return {
      clock: { nowMs: () => Math.round(time.nowMs + this.#wallOffsetMs), monotonicMs: () => time.nowMs },
      newId,
      directory: DIRECTORY,
      cardData: {
        open: () => TAP,
        fingerprint: fingerprintOf,
        isFingerprintOf: (fingerprint, request) => fingerprint === fingerprintOf(request),
      },
      vault: {
        seal: (id) => Buffer.from(id),
        open: (id) => ({ ...KEPT, original: { id } }),
        hashPan: () => 'hash',
        isHashOf: () => true,
      } as Partial<World['vault']> as World['vault'],
      store: {
        insert: (attempt) => this.#commit(() => store.insert(attempt)),
        retry: (attempt) => this.#commit(() => store.retry(attempt)),
        submitPin: (attempt) => this.#commit(() => store.submitPin(attempt)),
        expirePin: (expiry) => this.#commit(() => store.expirePin(expiry)),
        submit: (submission) => this.#commit(() => store.submit(submission)),
        settle: (settlement) => this.#commit(() => store.settle(settlement)),
        recordOverdueAnswer: (answer) => this.#commit(() => store.recordAnswer(answer)),
        recordAnswer: (answer) => void this.#commit(() => store.recordAnswer(answer)).catch(() => {}),
        stepReversal: (step) => this.#commit(() => store.stepReversal(step)),
        recordLate: (record) => this.#commit(() => store.recordLate(record)),
        find: (key) => this.#read(() => store.find(key)),
        findByReference: (_acquirer, _merchant, reference) => this.#read(() => store.findByReference(reference)),
        findHandover: () => Promise.resolve(undefined),
        findOriginalFacts: (transaction) => this.#read(() => store.findOriginalFacts(transaction)),
        findRequest: (key) => this.#read(() => store.findRequest(key)),
        findAnswered: (responses) => this.#read(() => store.findAnswered(responses)),
        findReversals: (responses) => this.#read(() => store.findReversals(responses)),
      } satisfies Partial<TransactionStore> as Partial<TransactionStore> as TransactionStore,
      refunds: this.#refunds(),
      pinTokens: { issue: async () => 'token', check: async () => 'good' },
      pinSeconds: PIN_SECONDS,
      wakeups: { moved: (_key, timeoutMs) => time.pass(timeoutMs), announce: () => {}, announceWork: () => {} },
      originals: new OriginalConnections(),
      alarms: { needsReview: () => {} },
      reverseAhead: (asked, jobId) => void sendReversal(this.world, asked, jobId).catch(() => {}),
      path: { kind: 'direct', switches: { find: () => this.#switch() } },
    } satisfies Partial<World> as Partial<World> as World;
  }

  #refunds(): World['refunds'] {
    const refunds = new MemoryRefunds(this.#shared.store);
    return {
      reserve: (refund) => this.#commit(() => refunds.reserve(refund)),
      isSettled: () => this.#read(() => false),
      startVoid: (wanted) => this.#commit(() => refunds.startVoid(wanted)),
      findVoid: (sale) => this.#read(() => refunds.findVoid(sale)),
      acknowledge: (record) => this.#commit(() => refunds.acknowledge(record)),
    };
  }

  async #nextStan(): Promise<string> {
    if (this.#stans.length === 0) {
      const first = await this.#commit(() => this.#shared.store.takeStans(STANS_IN_BLOCK));
      this.#stans = Array.from({ length: STANS_IN_BLOCK }, (_, index) => first + index);
    }
    return String(this.#stans.shift()).padStart(6, '0');
  }

  get #connectionId(): string {
    return `${this.name}.${this.#connection}`;
  }

  #switch(): Switch {
    const { switches } = this.#shared;
    return {
      type: 'simulated',
      profile: PROFILE,
      isSignedOn: true,
      isFull: false,
      takesPin: true,
      nextStan: () => this.#nextStan(),
      takeSlot: async (connectionId?: string) => {
        await this.#moment();
        if (switches.chance(0.03)) this.#connection++; // the line was cut, and another is there
        if (switches.chance(0.05)) return undefined;
        return connectionId === undefined || connectionId === this.#connectionId ? this.#slot() : undefined;
      },
      hasConnection: (connectionId) => connectionId === this.#connectionId,
      prepare: ({ rrn, amount, pin }) => ({
        original: { rrn, amountMinor: String(amount.amountMinor), kind: pin ? 'sale with PIN' : 'sale' },
      }),
      prepareRefund: ({ rrn, amount }) => ({
        original: { rrn, amountMinor: String(amount.amountMinor), kind: 'refund' },
      }),
      translatePin: async () => ({}) as PinData,
      providerId: () => ({}),
    } satisfies Partial<Switch> as Partial<Switch> as Switch;
  }

  /** Of the connection that there is now, and of no other. */
  #slot(): SwitchSlot {
    const { switches, store } = this.#shared;
    const connectionId = this.#connectionId;
    const key = (id: string) => store.rows.get(id)!.transaction.rrn!;
    return {
      authorize: (request: PreparedRequest, timing) => {
        const { rrn, amountMinor, kind } = request.original as { rrn: string; amountMinor: string; kind: RequestKind };
        const arrive = () => switches.authorize(rrn, Number(amountMinor), kind);
        return this.#ask(connectionId, timing, arrive, (outcome) => ({ outcome, providerFields: {} }), rrn);
      },
      reverse: ({ original }, timing) =>
        this.#ask(
          connectionId,
          timing,
          () => switches.reverse(key(original.id!)),
          (answer) => answer,
        ),
      complete: () => Promise.reject(new Error('these switches post by themselves')),
      release: () => {},
    };
  }

  /** Writes a message; its answer counts until the deadline and on its own connection. A late one is a stray. */
  async #ask<Answer, Value>(
    connectionId: string,
    { deadlineMs, sendByMs }: SendTiming,
    arrive: () => Reply<Answer> | undefined,
    toValue: (answer: Answer) => Value,
    rrn?: string,
  ): Promise<SwitchAnswer<Value>> {
    const { time, switches } = this.#shared;
    await this.#moment();
    const isCut = connectionId !== this.#connectionId;
    if (isCut || time.nowMs > sendByMs || switches.chance(0.03))
      return { connectionId, kind: 'failed', written: false, reason: 'down' };
    const answered = new Promise<SwitchAnswer<Value>>((resolve) => {
      let isWaiting = true;
      const end = (answer: SwitchAnswer<Value>) => {
        isWaiting = false;
        resolve(answer);
      };
      time.at(deadlineMs, () => end({ connectionId, kind: 'failed', written: true, reason: 'deadline' }));
      const arrivalMs = switches.arrivalMs(connectionId);
      if (arrivalMs === undefined) return;
      time.at(arrivalMs, () => {
        const reply = arrive();
        if (!reply) return;
        time.after(reply.afterMs, () => {
          if (!this.isAlive || connectionId !== this.#connectionId) {
            if (rrn !== undefined) this.#shared.deliverElsewhere(rrn, reply.answer as Outcome);
            return;
          }
          if (isWaiting) end({ connectionId, kind: 'answered', value: toValue(reply.answer) });
          else if (rrn !== undefined) this.takeStray(rrn, reply.answer as Outcome);
        });
      });
    });
    await this.#moment(); // the bytes have left
    const answer = await answered;
    await this.#moment(); // the answer is there
    return answer;
  }

  /** An answer that nothing here waits for. */
  takeStray(rrn: string, outcome: Outcome): void {
    const stray = {
      acquirerId: 1,
      processorId: 1,
      stan: rrn.slice(-6),
      tid: 'TW000001',
      rrn,
      transmissionDateTime: undefined,
    };
    settleStrays(this.world, [{ ...stray, read: () => outcome }]).catch(() => {});
  }
}

function fingerprintOf({ paymentCardData, pinBlock = '' }: Partial<PinRequest>): string {
  return `${paymentCardData} ${pinBlock}`;
}
