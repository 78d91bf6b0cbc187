import type { GuardedFetch } from '../outbound/guarded-fetch.ts';
import { Status } from '../payments/model/status.ts';
import type { NewAttempt, ReversalStep } from '../payments/ports/store-ports.ts';
import type { CommitListener, SwitchMessage } from '../payments/ports/transaction-dependencies.ts';

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

const WRITTEN: Readonly<Partial<Record<SwitchMessage, FailpointName>>> = {
  authorization: 'after-write',
  reversal: 'after-reversal-write',
};
const RESPONDED: Readonly<Partial<Record<SwitchMessage, FailpointName>>> = {
  authorization: 'after-response',
  reversal: 'after-reversal-response',
};

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

  readonly beforeCommit: CommitListener = {
    ...this.#aroundSubmission('before-submit-commit'),
    reserve: () => this.pass('before-refund-commit'),
    startVoid: () => this.pass('before-void-commit'),
  };

  readonly afterCommit: CommitListener = {
    ...this.#aroundSubmission('after-submit-commit'),
    decision: ({ isOverdue }) => this.pass(isOverdue ? 'after-overdue-commit' : 'after-outcome-commit'),
    stepReversal: (step) => this.pass(momentAfter(step)),
    reserve: () => this.pass('after-refund-commit'),
    startVoid: () => this.pass('after-void-commit'),
  };

  /** Reports that a request was handed to a connection, which writes it at the end of the same turn of the event loop. */
  passAfterWrite(message: SwitchMessage): void {
    const name = WRITTEN[message];
    if (name) setImmediate(() => this.pass(name));
  }

  passAfterResponse(message: SwitchMessage): void {
    const name = RESPONDED[message];
    if (name) this.pass(name);
  }

  /** Reports that a moment is reached. The process sends the signal to itself, so it executes nothing in between. */
  pass(name: FailpointName): void {
    const armed = this.#armed.get(name);
    if (armed && --armed.passesLeft === 0) process.kill(process.pid, armed.signal);
  }

  /** (B) for taps that a commit submits; those of an `api` process are submitted by a commit of the worker. */
  #aroundSubmission(name: FailpointName): CommitListener {
    const passIfSubmitted = ({ transaction: { status } }: Pick<NewAttempt, 'transaction'>) => {
      if (status === Status.SubmittedToPaymentProcessor) this.pass(name);
    };
    return { insert: passIfSubmitted, retry: passIfSubmitted, submitPin: passIfSubmitted, submit: passIfSubmitted };
  }
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
      const response = await fetcher.request(request);
      failpoints.pass('after-webhook');
      return response;
    },
  };
}

function momentAfter({ record, voidRow }: ReversalStep): FailpointName {
  if (record?.kind === 'sent') return 'after-reversal-commit';
  return (voidRow?.disposition ?? null) === null ? 'after-reversal-outcome' : 'after-void-outcome';
}
