import pino from 'pino';
import { expect, test } from 'vitest';
import type { LogLevel } from '../../src/observe/log.ts';
import { createUnmatchedLog, logTransactions, ProcessObserver } from '../../src/observe/transaction-observer.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { Status } from '../../src/payments/model/status.ts';
import type { GuardedDecision, NewAttempt, NewSubmission, ReversalStep } from '../../src/payments/ports/store-ports.ts';
import type { CommitResult } from '../../src/payments/ports/transaction-dependencies.ts';
import type { UnmatchedResponse } from '../../src/payments/reversals/late-responses.ts';
import { failOnBug } from '../support/fail-on-bug.ts';
import type { LogLine } from '../support/log-lines.ts';
import { sampleTransaction } from '../transactions/sample-transaction.ts';

const NAMES = {
  acquirerId: 1,
  attempt: 1,
  correlationId: '0b2f8f6e-95f1-4b8c-9f0a-0d1f1c9f3a55',
  stan: '000123',
  rrn: '632500000123',
  tid: 'TW101001',
};
const submitted = sampleTransaction({ ...NAMES, status: Status.SubmittedToPaymentProcessor });
const decided = (disposition: number | null) =>
  ({
    transaction: submitted,
    decision: { result: { disposition, responseCode: '00' } },
    isOverdue: false,
  }) as unknown as GuardedDecision;

const NONE = { listeners: [], onError: failOnBug, tracing: undefined, failpoints: undefined, load: undefined };

/** A store whose commits succeed or fail under an observer that logs them, and the log. */
function watchedWorld(level: LogLevel, isCommitted = true) {
  const lines: LogLine[] = [];
  const log = pino({ level }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const listeners = [logTransactions(log, () => 0)];
  const observer = new ProcessObserver({ ...NONE, listeners });
  const inserted: CommitResult = isCommitted ? 'inserted' : 'exists';
  const store = {
    insert: (attempt: NewAttempt) => observer.commit('insert', attempt, async () => inserted),
    submit: (submission: NewSubmission) => observer.commit('submit', submission, async () => isCommitted),
    recordDecision: (guarded: GuardedDecision) => observer.commit('decision', guarded, async () => isCommitted),
    stepReversal: (step: ReversalStep) => observer.commit('stepReversal', step, async () => isCommitted),
  };
  return { store, lines, log };
}

test('a tap is logged on debug from its submission to its outcome, each line with every identifier of the tap', async () => {
  const { store, lines } = watchedWorld('debug');
  const accepted = { ...submitted, status: Status.ReadyToSubmitToPaymentProcessor };
  await store.insert({ transaction: accepted } as NewAttempt);
  await store.submit({ transaction: submitted } as NewSubmission);
  await store.recordDecision(decided(Disposition.Approved));
  expect(lines.map(({ msg }) => msg)).toEqual(['accepted', 'submitted to the switch', 'decided']);
  for (const line of lines) expect(line).toMatchObject({ ...NAMES, id: submitted.id });
  expect(lines[2]).toMatchObject({ disposition: 'Approved', responseCode: '00' });
});

test('a tap that is accepted and submitted in one commit is logged once', async () => {
  const { store, lines } = watchedWorld('debug');
  await store.insert({ transaction: submitted } as NewAttempt);
  expect(lines.map(({ msg }) => msg)).toEqual(['submitted to the switch']);
});

test('what was not committed is not logged', async () => {
  const { store, lines } = watchedWorld('debug', false);
  await store.insert({ transaction: submitted } as NewAttempt);
  await store.submit({ transaction: submitted } as NewSubmission);
  await store.recordDecision(decided(Disposition.Indeterminate));
  expect(lines).toEqual([]);
});

test('what is certain is not logged on info, and what is uncertain only as often as a person can read', async () => {
  const { store, lines } = watchedWorld('info');
  await store.insert({ transaction: submitted } as NewAttempt);
  await store.recordDecision(decided(Disposition.Declined));
  await store.recordDecision(decided(null));
  expect(lines).toEqual([]);
  for (let lost = 0; lost < 100; lost++) await store.recordDecision(decided(Disposition.Indeterminate));
  expect(lines).toHaveLength(20);
  const auditEntries = [{ reversal: 'sent', attempt: 2 }] as const;
  await store.stepReversal({ transaction: submitted, auditEntries } as unknown as ReversalStep);
  expect(lines[20]).toMatchObject({ msg: 'reversal advanced', reversal: 'sent', reversalAttempt: 2, rrn: NAMES.rrn });
});

test('a response without a request is logged with the identifiers of the switch, at a limited rate', () => {
  const { lines, log } = watchedWorld('info');
  const tell = createUnmatchedLog(log);
  const unmatched = { acquirerId: 1, processorId: 1, stan: '000999', rrn: '632500000999', tid: 'TW101001' };
  for (let sent = 0; sent < 1_000; sent++) tell(unmatched as UnmatchedResponse);
  expect(lines[0]).toMatchObject({ level: 40, ...unmatched });
  expect(lines.length).toBeLessThan(100);
});
