import { Status } from '../payments/model/status.ts';
import type { RefundStore, ReversalStep, TransactionStore } from '../payments/ports/store-ports.ts';
import type { Switch, SwitchSlot } from '../payments/ports/switch-ports.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { GuardedFetch } from '../webhooks/guarded-fetch.ts';
import { overrideMethods } from './override-methods.ts';

/**
 * The moments at which a crash test ends this process. Each lies between two effects, where the memory is lost and
 * what is committed or on the wire is not. Their order in the life of a tap (see "The path of a tap" in README.md):
 *
 *    before-submit-commit · (B) · after-submit-commit · the bytes · after-write · the response · after-response ·
 *    (C) · after-outcome-commit · the phone's response
 */
export const FAILPOINTS = [
  'before-submit-commit',
  'after-submit-commit',
  'after-write',
  'after-response',
  'after-outcome-commit',
  'after-overdue-commit',
  'after-reversal-commit',
  'after-reversal-write',
  'after-reversal-response',
  'after-reversal-outcome',
  'before-refund-commit',
  'after-refund-commit',
  'before-void-commit',
  'after-void-commit',
  'after-void-outcome',
  'before-webhook',
  'after-webhook',
] as const;

export type FailpointName = (typeof FAILPOINTS)[number];

const SIGNALS = { kill: 'SIGKILL', freeze: 'SIGSTOP' } as const;
const ENTRY = /^([a-z-]+):(kill|freeze)(?:@([1-9]\d{0,5}))?$/;

interface Armed {
  readonly signal: (typeof SIGNALS)[keyof typeof SIGNALS];
  passesLeft: number;
}

/** The effects by moment, `after-write:kill` or `after-write:freeze@3` (the third time). Only for dev. */
export class Failpoints {
  readonly #armed = new Map<FailpointName, Armed>();

  /** Reads a comma-separated list; undefined when an entry names no failpoint. */
  static parse(text: string): Failpoints | undefined {
    const failpoints = new Failpoints();
    for (const entry of text.split(',')) {
      const [, name, action, pass = '1'] = ENTRY.exec(entry.trim()) ?? [];
      if (!FAILPOINTS.includes(name as FailpointName)) return undefined;
      const signal = SIGNALS[action as keyof typeof SIGNALS];
      failpoints.#armed.set(name as FailpointName, { signal, passesLeft: Number(pass) });
    }
    return failpoints;
  }

  /** Reports that a moment is reached. The process sends the signal to itself, so it executes nothing in between. */
  pass(name: FailpointName): void {
    const armed = this.#armed.get(name);
    if (armed && --armed.passesLeft === 0) process.kill(process.pid, armed.signal);
  }
}

/** The dependencies with failpoints around their effects; without failpoints, the dependencies unchanged. */
export function armFailpoints(
  deps: TransactionDependencies,
  failpoints: Failpoints | undefined,
): TransactionDependencies {
  if (!failpoints) return deps;
  const { path } = deps;
  const armedPath: TransactionDependencies['path'] =
    path.kind === 'direct'
      ? {
          ...path,
          switches: overrideMethods(path.switches, {
            find: (...key) => {
              const found = path.switches.find(...key);
              return found && armSwitch(found, failpoints);
            },
          }),
        }
      : path;
  return {
    ...deps,
    store: armStore(deps.store, failpoints),
    refunds: armRefunds(deps.refunds, failpoints),
    path: armedPath,
  };
}

/** The webhook fetcher with failpoints around each attempt. */
export function armFetcher(
  fetcher: Pick<GuardedFetch, 'request'>,
  failpoints: Failpoints | undefined,
): Pick<GuardedFetch, 'request'> {
  if (!failpoints) return fetcher;
  return {
    request: async (request) => {
      failpoints.pass('before-webhook');
      const answer = await fetcher.request(request);
      failpoints.pass('after-webhook');
      return answer;
    },
  };
}

function armStore(store: TransactionStore, failpoints: Failpoints): TransactionStore {
  /** (B) for taps that this commit submits; those of an `api` process are submitted by a commit of the worker. */
  const submitting = async <T>(status: number, write: () => Promise<T>, isDone: (outcome: T) => boolean) => {
    const isSubmission = status === Status.SubmittedToPaymentProcessor;
    if (isSubmission) failpoints.pass('before-submit-commit');
    const outcome = await write();
    if (isSubmission && isDone(outcome)) failpoints.pass('after-submit-commit');
    return outcome;
  };
  return overrideMethods(store, {
    insert: (attempt) =>
      submitting(
        attempt.transaction.status,
        () => store.insert(attempt),
        (outcome) => outcome === 'inserted',
      ),
    retry: (attempt) => submitting(attempt.transaction.status, () => store.retry(attempt), Boolean),
    submitPin: (attempt) => submitting(attempt.transaction.status, () => store.submitPin(attempt), Boolean),
    submit: (submission) => submitting(submission.transaction.status, () => store.submit(submission), Boolean),
    recordDecision: async (decision) => {
      const isCommitted = await store.recordDecision(decision);
      if (isCommitted) failpoints.pass(decision.isOverdue ? 'after-overdue-commit' : 'after-outcome-commit');
      return isCommitted;
    },
    stepReversal: async (step) => {
      const isCommitted = await store.stepReversal(step);
      if (isCommitted) failpoints.pass(momentAfter(step));
      return isCommitted;
    },
  });
}

function momentAfter({ record, voidRow }: ReversalStep): FailpointName {
  if (record?.kind === 'sent') return 'after-reversal-commit';
  return (voidRow?.disposition ?? null) === null ? 'after-reversal-outcome' : 'after-void-outcome';
}

function armRefunds(refunds: RefundStore, failpoints: Failpoints): RefundStore {
  return overrideMethods(refunds, {
    reserve: async (refund) => {
      failpoints.pass('before-refund-commit');
      const outcome = await refunds.reserve(refund);
      if (outcome === 'inserted') failpoints.pass('after-refund-commit');
      return outcome;
    },
    startVoid: async (wanted) => {
      failpoints.pass('before-void-commit');
      const isStarted = await refunds.startVoid(wanted);
      if (isStarted) failpoints.pass('after-void-commit');
      return isStarted;
    },
  });
}

function armSwitch(target: Switch, failpoints: Failpoints): Switch {
  return overrideMethods(target, {
    takeSlot: async (connectionId) => {
      const slot = await target.takeSlot(connectionId);
      return slot && armSlot(slot, failpoints);
    },
  });
}

function armSlot(slot: SwitchSlot, failpoints: Failpoints): SwitchSlot {
  return overrideMethods(slot, {
    authorize: async (request, timing, about) => {
      const answering = slot.authorize(request, timing, about);
      // A connection writes its queued bytes at the end of the same turn of the event loop.
      setImmediate(() => failpoints.pass('after-write'));
      const answer = await answering;
      if (answer.kind === 'answered') failpoints.pass('after-response');
      return answer;
    },
    reverse: async (reversal, timing, about) => {
      const answering = slot.reverse(reversal, timing, about);
      setImmediate(() => failpoints.pass('after-reversal-write'));
      const answer = await answering;
      if (answer.kind === 'answered') failpoints.pass('after-reversal-response');
      return answer;
    },
  });
}
